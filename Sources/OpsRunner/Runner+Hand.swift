internal import OpsLinux

/// Launches that opsd has stored and given out beforehand: the next begins the moment an attempt succeeds, in its slot.
///
/// Each stands for a token, of a heap that opsd shares and takes back when it has changed its mind. So what is here may
/// be void; only the token says that it is not.
struct Hand {
    private var launches: [LaunchRequest] = []
    private var begun = 0
    /// What ended otherwise than by plain success, until opsd has heard of it: what is next is for opsd to say.
    private var disturbances: Set<Attempt> = []
    /// Slots of attempts that have succeeded in this turn.
    private var freeSlots: [Int32] = []

    var isEmpty: Bool { begun == launches.count }
    var mayBegin: Bool { !isEmpty && disturbances.isEmpty }

    mutating func add(_ launch: LaunchRequest) { launches.append(launch) }

    mutating func close(for attempt: Attempt) { disturbances.insert(attempt) }

    /// opsd has stored how it ended, and gives out nothing any more that does not take that into account.
    mutating func settle(_ attempt: Attempt) { disturbances.remove(attempt) }

    /// What is in hand is void.
    mutating func drop() {
        launches.removeAll(keepingCapacity: launches.count < 64)
        begun = 0
    }

    /// opsd is told all anew.
    mutating func reset() {
        drop()
        disturbances.removeAll()
    }

    mutating func free(_ slot: Int32) { if !isEmpty { freeSlots.append(slot) } }

    mutating func takeFreeSlots() -> [Int32] {
        defer { freeSlots.removeAll() }
        return freeSlots
    }

    mutating func removeFirst() -> LaunchRequest {
        defer {
            begun += 1
            if isEmpty {
                launches.removeAll(keepingCapacity: true)
                begun = 0
            }
        }
        return launches[begun]
    }
}

extension Runner {
    /// An attempt has ended: only where it succeeded, undisturbed and at once, is its slot passed on.
    func noteFreeSlot(of record: AttemptRecord, _ exit: ProcessExit, isNews: Bool) {
        guard !record.attempt.isErrand else { return }
        // One whose slot the program before this one did not hand down passes nothing on.
        if isNews, exit.status == .code(0), !exit.outOfMemory, record.killAt == nil, !record.isFrozen, record.slot >= 0
        {
            hand.free(record.slot)
        } else {
            hand.close(for: record.attempt)
        }
    }

    /// Begins the next in hand in each slot that has become free.
    func passSlotsOn() {
        let slots = hand.takeFreeSlots()
        guard !slots.isEmpty, let connection, connection.isGreeted, !connection.isClosed, ending == nil else { return }
        var begun: [LaunchRequest] = []
        noting { () throws(SystemError) in
            for slot in slots where hand.mayBegin {
                guard try connection.takeToken() else { return hand.drop() }
                var launch = hand.removeFirst()
                launch.slot = slot
                report(.taken(launch.attempt, slot: slot, at: Clock.read()))
                begun.append(launch)
            }
        }
        guard !begun.isEmpty else { return }
        // opsd stores what has ended and begun while the processes are made.
        connection.flush()
        for launch in begun { self.launch(launch) }
    }
}

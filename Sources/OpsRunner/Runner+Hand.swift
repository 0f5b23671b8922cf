internal import OpsSystem

/// Launches that opsd has stored and given out beforehand: the first that waits for nobody begins the moment an attempt
/// succeeds, in its slot.
///
/// Each stands for a token, of a heap that opsd shares and takes back when it has changed its mind. So what is here may
/// be void; only the token says that it is not.
struct Hand {
    private struct Launch {
        let request: LaunchRequest
        /// Those whose success it waits for still.
        var after: [Attempt]
    }

    private var launches: [Launch] = []
    /// What ended otherwise than by plain success, until opsd has heard of it: what is next is for opsd to say.
    private var disturbances: Set<Attempt> = []
    /// What has succeeded, until opsd says that it knows: somebody who waits for it may be on his way.
    private var succeeded: Set<Attempt> = []
    /// Of those, the slots that nobody has yet.
    private var freeSlots: [(attempt: Attempt, slot: Int32)] = []

    mutating func add(_ launch: LaunchRequest, after: [Attempt]) {
        launches.append(Launch(request: launch, after: after))
    }

    func hasSucceeded(_ attempt: Attempt) -> Bool { succeeded.contains(attempt) }

    func isAwaited(_ attempt: Attempt) -> Bool { launches.contains { $0.after.contains(attempt) } }

    mutating func close(for attempt: Attempt) { disturbances.insert(attempt) }

    /// opsd has stored how it ended, and gives out nothing any more that does not take that into account.
    mutating func settle(_ attempt: Attempt) {
        disturbances.remove(attempt)
        succeeded.remove(attempt)
        freeSlots.removeAll { $0.attempt == attempt }
    }

    /// What is in hand is void.
    mutating func drop() { launches.removeAll(keepingCapacity: launches.count < 64) }

    /// opsd is told all anew.
    mutating func reset() { self = Hand() }

    /// It has succeeded, and whoever is in hand may have its slot.
    mutating func free(_ slot: Int32, of attempt: Attempt) { freeSlots.append((attempt: attempt, slot: slot)) }

    mutating func succeed(_ attempt: Attempt) {
        succeeded.insert(attempt)
        for place in launches.indices where !launches[place].after.isEmpty {
            launches[place].after.removeAll { $0 == attempt }
        }
    }

    /// opsd has given it to somebody.
    mutating func occupy(_ slot: Int32) { freeSlots.removeAll { $0.slot == slot } }

    /// Whether somebody may begin.
    var mayBegin: Bool { !freeSlots.isEmpty && disturbances.isEmpty && launches.contains(where: \.after.isEmpty) }

    /// Who begins now, and where; only when somebody may.
    mutating func takeNext() -> LaunchRequest? {
        guard mayBegin, let place = launches.firstIndex(where: \.after.isEmpty) else { return nil }
        var request = launches.remove(at: place).request
        request.slot = freeSlots.removeFirst().slot
        return request
    }
}

extension Runner {
    /// What it waits for may have ended on the way here.
    func takeInHand(_ request: LaunchRequest, after: [Attempt]) {
        let rest = after.filter { !hand.hasSucceeded($0) }
        for attempt in rest where table[attempt]?.isAlive == false { hand.close(for: attempt) }
        hand.add(request, after: rest)
        passSlotsOn()
    }

    /// An attempt has ended: only where it succeeded, undisturbed and at once, is its slot passed on.
    func noteFreeSlot(of record: AttemptRecord, _ exit: ProcessExit, isNews: Bool) {
        guard !record.attempt.isErrand else { return }
        let speaks = record.told.result != nil
        // One whose slot the program before this one did not hand down passes nothing on; and what one has said to those
        // who wait for it, opsd has to tell them.
        if isNews, exit.status == .code(0), !exit.outOfMemory, record.killAt == nil, !record.isFrozen, record.slot >= 0,
            !speaks || !hand.isAwaited(record.attempt)
        {
            hand.free(record.slot, of: record.attempt)
            if !speaks { hand.succeed(record.attempt) }
        } else {
            hand.close(for: record.attempt)
        }
    }

    /// Begins the next in hand in each slot that has become free. All of it is told at the end of the turn: somebody
    /// waits for the process to be made, and opsd has the time that the process takes.
    func passSlotsOn() {
        guard hand.mayBegin, let connection, connection.isGreeted, !connection.isClosed, ending == nil else { return }
        noting { () throws(SystemError) in
            while hand.mayBegin {
                guard try connection.takeToken() else { return hand.drop() }
                guard let launch = hand.takeNext() else { return }
                report(.taken(launch.attempt, slot: launch.slot, at: Clock.read()))
                self.launch(launch)
            }
        }
    }
}

internal import OpsSystem

/// What an earlier runner left of an attempt, until it is proven gone.
struct Remains {
    /// The OPS_SOCKET its processes were given.
    var socket: String
    /// The user its processes were started as; `nil`: opsd is older and does not say.
    var uid: UInt32?
    var lookAt: Int64
    var pause = Pause()

    /// Whether a process that its environment counts to the attempt may be one of it.
    func isUser(_ users: ProcessRecord.Users) -> Bool { uid.map { users.speak(for: $0) } ?? true }
}

/// How long to wait for what was killed and is not gone: a little, then longer each time, for it may not die at all
/// (a process that has become another user's, one in the middle of a read from a dead disk).
struct Pause {
    private var next: Int64 = 10_000_000
    static let longest: Int64 = 1_000_000_000

    mutating func take() -> Int64 {
        defer { next = min(next * 2, Pause.longest) }
        return next
    }
}

/// Killing what an earlier runner left: it is no child of ours, so nobody tells us when it is gone.
extension Runner {
    func reap(_ attempt: Attempt, socket: String, uid: UInt32?) {
        // One of our own is ended as one of our own.
        if let record = table[attempt] {
            if record.isAlive { terminate(record, grace: 0) } else { report(.gone(attempt)) }
            return
        }
        reaping[attempt] = Remains(socket: socket, uid: uid, lookAt: Clock.read().monotonic)
    }

    /// Looks once for all that are due: by control group, and by environment and session in one look at /proc.
    func pursueRemains(now: Int64) {
        if reaping.isEmpty { return }
        let due = reaping.filter { $0.value.lookAt <= now }
        if due.isEmpty { return }
        noting { () throws(SystemError) in
            let survivors = try Survivors(of: due, ours: Identity.pid)
            let shared = try sharedGroups.ofOthers()
            for (attempt, remains) in due {
                for process in survivors[attempt] { try Signals.send(Signals.kill, to: process) }
                let isGroupGone = try killGroups(of: attempt, shared[attempt] ?? [])
                if isGroupGone && survivors[attempt].isEmpty {
                    reaping[attempt] = nil
                    report(.gone(attempt))
                } else {
                    var next = remains
                    next.lookAt = now + next.pause.take()
                    reaping[attempt] = next
                }
            }
        }
        // After an error as well: later.
        for (attempt, remains) in reaping where remains.lookAt <= now {
            reaping[attempt]?.lookAt = now + Pause.longest
        }
    }

    /// `shared`: the groups that it was the last to be in.
    private func killGroups(of attempt: Attempt, _ shared: [ControlGroup]) throws(SystemError) -> Bool {
        guard let own = groups?.group(attempt.groupName) else { return true }
        var isGone = true
        for group in [own] + shared where Files.exists(group.path) {
            if try group.remove() { continue }
            try group.kill()
            isGone = false
        }
        return isGone
    }
}

/// Processes on this machine that belong to attempts of an earlier runner.
struct Survivors {
    private var processes: [Attempt: [ProcessRecord]] = [:]

    subscript(attempt: Attempt) -> [ProcessRecord] { processes[attempt] ?? [] }

    /// A process counts when its environment names attempt and socket and it is the attempt's user's, when it is that
    /// user's and shares the session of one that does, or descends from one that counts.
    init(of attempts: [Attempt: Remains], ours: Int32) throws(SystemError) {
        let all = try ProcessRecord.all().filter { !$0.hasEnded && $0.pid != ours }
        var owners: [Int32: Attempt] = [:]
        var sessions: [Int32: Attempt] = [:]
        var users: [Int32: ProcessRecord.Users] = [:]
        for record in all {
            guard let user = try ProcessRecord.users(of: record.pid) else { continue }
            users[record.pid] = user
            guard attempts.values.contains(where: { $0.isUser(user) }),
                let badge = Badge(environment: ProcessRecord.environment(of: record.pid)),
                let remains = attempts[badge.attempt], remains.socket == badge.socket, remains.isUser(user)
            else { continue }
            owners[record.pid] = badge.attempt
            sessions[record.session] = badge.attempt
        }
        for record in all where owners[record.pid] == nil {
            guard let attempt = sessions[record.session], let user = users[record.pid],
                // Root's operation may have made others of its processes.
                attempts[attempt]?.uid == 0 || attempts[attempt]?.isUser(user) == true
            else { continue }
            owners[record.pid] = attempt
        }
        // Parents may stand after their children in the list: until nothing changes.
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for record in all where owners[record.pid] == nil {
                guard let owner = owners[record.parent] else { continue }
                owners[record.pid] = owner
                hasChanged = true
            }
        }
        for record in all { if let owner = owners[record.pid] { processes[owner, default: []].append(record) } }
    }
}

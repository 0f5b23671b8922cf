internal import OpsExecutor
internal import OpsSystem

/// Processes that an earlier runner left of an attempt. They are killed until they are proven gone.
struct StaleTree {
    /// OPS_SOCKET of its processes.
    var socket: String
    /// User that its processes were started as; `nil`: opsd is older and does not say.
    var uid: UInt32?
    var lookAt: MonotonicInstant
    var backoff = Backoff()

    /// Returns whether a process with these users may belong to the attempt that its environment names.
    func mayContain(_ users: ProcessRecord.Users) -> Bool { uid.map { users.environmentIsFrom($0) } ?? true }
}

/// Delays between kills of the same processes, which double up to a second. A killed process may stay for long: one that
/// has become another user's, or one that reads from a dead disk.
struct Backoff {
    private var delay = TimeSpan.milliseconds(10)
    static let longest = TimeSpan.seconds(1)

    mutating func next() -> TimeSpan {
        defer { delay = min(delay * 2, Backoff.longest) }
        return delay
    }
}

/// Processes of this machine that belong to attempts of an earlier runner.
struct Survivors {
    private var processes: [AttemptID: [ProcessRecord]] = [:]
    /// Users of processes whose environments cannot be read now.
    private var unreadable: Set<ProcessRecord.Users> = []

    subscript(attempt: AttemptID) -> [ProcessRecord] { processes[attempt] ?? [] }

    /// Returns whether a process of a tree may be missing.
    func mayLackProcess(of tree: StaleTree) -> Bool { unreadable.contains { tree.mayContain($0) } }

    /// Finds the processes of attempts. A process belongs to an attempt if its environment names attempt and socket and it
    /// runs as the user of the attempt, if it runs as that user in the session of such a process, or if it descends from
    /// a process that belongs to the attempt.
    init(
        of attempts: [AttemptID: StaleTree], ours: Int32, _ environments: EnvironmentReader
    ) throws(SystemError) {
        let all = try ProcessRecord.all().filter { !$0.hasEnded && $0.pid != ours }
        var owners: [Int32: AttemptID] = [:]
        var sessions: [Int32: AttemptID] = [:]
        var users: [Int32: ProcessRecord.Users] = [:]
        for record in all {
            guard let user = try ProcessRecord.users(of: record.pid) else { continue }
            users[record.pid] = user
            guard attempts.values.contains(where: { $0.mayContain(user) }) else { continue }
            guard let environment = environments.environment(of: record.pid, uid: user.real) else {
                unreadable.insert(user)
                continue
            }
            guard let tag = AttemptTag(environment: environment),
                let tree = attempts[tag.attempt], tree.socket == tag.socket, tree.mayContain(user)
            else { continue }
            owners[record.pid] = tag.attempt
            sessions[record.session] = tag.attempt
        }
        for record in all where owners[record.pid] == nil {
            guard let attempt = sessions[record.session], let user = users[record.pid],
                // Processes of an operation of root may have become other users'.
                attempts[attempt]?.uid == 0 || attempts[attempt]?.mayContain(user) == true
            else { continue }
            owners[record.pid] = attempt
        }
        // Parents may stand after their children in the list, so this repeats until nothing changes.
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

internal import OpsExecutor
internal import OpsSystem

/// Process trees of attempts without control groups. This process adopts orphans, so every living process of an attempt
/// has an ancestor among the children of this process: a main process or an adopted orphan.
///
/// Limit: an orphan is recognised by its session or by OPS_ID and OPS_ATTEMPT in its environment. An orphan that has
/// given up both is counted to an attempt only while no other attempt of its user is alive. The environment counts only
/// for the user of the operation that it names: any process can write it.
struct DescendantTracker {
    /// Adopted children and the attempts that they belong to; `nil`: not known.
    private(set) var orphans: [Int32: AttemptID?] = [:]
    /// An orphan that may belong to several trees: it seems to have no environment, as a process for a moment while it
    /// executes a program, or its environment cannot be read now.
    private struct UnclearOrphan {
        /// User of the orphan, and of the trees that it may belong to.
        let uid: UInt32
        /// Number of the last tree that it may belong to.
        let lastTree: Int
        /// Instant from which the orphan counts as one that was started without an environment; `nil`: its environment
        /// cannot be read now.
        let until: MonotonicInstant?
    }

    /// Result of a look at an orphan.
    private enum Finding {
        /// The orphan belongs to an attempt; `nil`: to none, or it is not known.
        case clear(AttemptID?)
        case withoutEnvironment(uid: UInt32)
        case unreadable(uid: UInt32)
    }

    let environments: EnvironmentReader
    private var unclear: [Int32: UnclearOrphan] = [:]
    private static let patience = TimeSpan.milliseconds(300)
    /// Most orphans without an environment of one user. A user can start any number of them, and each is looked at several
    /// times.
    private static let mostUnclear = 16

    private struct Tree {
        let attempt: AttemptID
        /// OPS_SOCKET of its processes; `nil`: no longer known.
        let socket: String?
        let uid: UInt32
        /// Number of trees that had begun when this one had.
        let number: Int

        func matches(_ tag: AttemptTag) -> Bool {
            attempt == tag.attempt && (socket ?? tag.socket) == tag.socket
        }
    }

    private var livingTrees: [AttemptID: Tree] = [:]
    private var begunTrees = 0
    /// Living trees, by the session of their main process. A later main process may get the number of one that has
    /// ended; then the older tree has no process in that session any more.
    private var sessions: [Int32: AttemptID] = [:]
    /// Attempts of the senders, and of their ancestors, that were looked up in this turn of the loop; `nil`: none. A user
    /// can make the chain of ancestors as long as a look-up follows it.
    private var senders: [Int32: AttemptID?] = [:]

    init(environments: EnvironmentReader = EnvironmentReader()) { self.environments = environments }

    mutating func begin(_ attempt: AttemptID, main: Int32, socket: String?, uid: UInt32) {
        begunTrees += 1
        livingTrees[attempt] = Tree(attempt: attempt, socket: socket, uid: uid, number: begunTrees)
        sessions[main] = attempt
    }

    mutating func end(_ attempt: AttemptID, main: Int32) {
        livingTrees[attempt] = nil
        if sessions[main] == attempt { sessions[main] = nil }
    }

    /// True if no tree is alive.
    var isEmpty: Bool { livingTrees.isEmpty }

    /// Forgets a child that has ended and was waited for.
    mutating func removeOrphan(_ pid: Int32) {
        orphans[pid] = nil
        unclear[pid] = nil
    }

    /// Ends the turn of the loop.
    mutating func endTurn() {
        forgetSenders()
        environments.endTurn()
    }

    /// Forgets the attempts of senders: a pid may belong to another process in the next turn.
    mutating func forgetSenders() { senders = [:] }

    /// Records the children that are neither a main process nor a process of the runner that trims a log.
    mutating func adopt(
        _ children: [Int32], mains: [Int32: AttemptID], except isTrimming: (Int32) -> Bool
    ) throws(SystemError) {
        // A new orphan may show to which attempt its descendants belong.
        forgetSenders()
        for pid in children where mains[pid] == nil && orphans[pid] == nil && !isTrimming(pid) {
            // A user can have any number of such orphans.
            if let known = unclear[pid], known.until == nil, !environments.canRead(uid: known.uid) { continue }
            let record = try ProcessRecord.read(pid)
            // Each process of an attempt is in another session. This one reads environments, also for the program that
            // this process was before.
            if record?.session == Identity.session { continue }
            let attempt: AttemptID?
            switch try look(at: pid, record) {
            case .clear(let found): attempt = found
            case .unreadable(let uid):
                setUnclear(pid, uid, until: nil)
                continue
            case .withoutEnvironment(let uid):
                if waitForEnvironment(of: pid, uid) { continue }
                attempt = nil
            }
            unclear[pid] = nil
            orphans[pid] = .some(attempt)
        }
    }

    /// Returns whether an orphan without an environment is looked at again before it counts as unknown.
    private mutating func waitForEnvironment(of pid: Int32, _ uid: UInt32) -> Bool {
        let now = Clock.read().monotonic
        if let until = unclear[pid]?.until { return now < until }
        if unclear.values.count(where: { $0.uid == uid && $0.until != nil }) >= Self.mostUnclear { return false }
        setUnclear(pid, uid, until: now + Self.patience)
        return true
    }

    private mutating func setUnclear(_ pid: Int32, _ uid: UInt32, until: MonotonicInstant?) {
        unclear[pid] = UnclearOrphan(uid: uid, lastTree: unclear[pid]?.lastTree ?? begunTrees, until: until)
    }

    /// True if orphans must be looked at again.
    var hasUnclearOrphans: Bool { !unclear.isEmpty }

    /// True if the environment of no unclear orphan can be read now.
    var hasOnlyUnreadableOrphans: Bool { unclear.values.allSatisfy { $0.until == nil } }

    /// Returns whether an orphan belongs to an attempt, or may do so.
    func hasOrphan(of attempt: AttemptID) -> Bool {
        if orphans.values.contains(where: { $0 == attempt }) { return true }
        guard let tree = livingTrees[attempt] else { return false }
        return unclear.values.contains { $0.uid == tree.uid && tree.number <= $0.lastTree }
    }

    /// Finds the attempt of an orphan, by its session, its environment, or its user.
    private func look(at pid: Int32, _ record: ProcessRecord?) throws(SystemError) -> Finding {
        if let session = record?.session, let attempt = sessions[session] { return .clear(attempt) }
        let trees = try self.trees(ofUserOf: pid)
        guard let uid = trees.first?.uid else { return .clear(nil) }
        guard let environment = environments.environment(of: pid, uid: uid) else {
            // This tree may be what has taken all processes. It must be possible to kill it.
            if environments.lacksHelper, trees.count == 1 { return .clear(trees.first?.attempt) }
            return .unreadable(uid: uid)
        }
        if let tag = AttemptTag(environment: environment), isOurs(tag) {
            let named = trees.first { $0.matches(tag) }?.attempt
            // A process with a tag of ours belongs to that attempt alone, also when that attempt is over. The tag of
            // another user's attempt proves nothing.
            if named != nil || !livingTrees.values.contains(where: { $0.matches(tag) }) { return .clear(named) }
        }
        if trees.count == 1 { return .clear(trees.first?.attempt) }
        return environment.isEmpty && record?.hasEnded == false ? .withoutEnvironment(uid: uid) : .clear(nil)
    }

    /// Returns the living trees of the user who gave a process its environment.
    private func trees(ofUserOf pid: Int32) throws(SystemError) -> [Tree] {
        guard let users = try ProcessRecord.users(of: pid) else { return [] }
        return livingTrees.values.filter { users.environmentIsFrom($0.uid) }
    }

    /// Returns whether a tag names a daemon that this runner starts processes for.
    private func isOurs(_ tag: AttemptTag) -> Bool {
        livingTrees.values.contains { ($0.socket ?? tag.socket) == tag.socket }
    }

    /// Returns the attempt of any process, by its ancestors.
    mutating func attempt(ofSender pid: Int32, mains: [Int32: AttemptID]) throws(SystemError) -> AttemptID? {
        if let known = senders[pid] { return known }
        var visited: [Int32] = []
        var next = pid
        // Bounded: ancestors may end and change during the walk.
        for _ in 0..<256 {
            if let attempt = known(next, mains) { return remember(attempt, of: visited) }
            guard let record = try ProcessRecord.read(next) else { break }
            visited.append(next)
            if let attempt = sessions[record.session] { return remember(attempt, of: visited) }
            if record.parent <= 1 || record.parent == Identity.pid { break }
            next = record.parent
        }
        let named = try attempt(ofTagOf: pid)
        senders[pid] = .some(named)
        return named
    }

    /// Returns the attempt of a process if it is known without a look at the process.
    private func known(_ pid: Int32, _ mains: [Int32: AttemptID]) -> AttemptID? {
        if let attempt = mains[pid] { return attempt }
        if let attempt = orphans[pid] ?? nil { return attempt }
        return senders[pid] ?? nil
    }

    private mutating func remember(_ attempt: AttemptID, of pids: [Int32]) -> AttemptID {
        for pid in pids { senders[pid] = .some(attempt) }
        return attempt
    }

    /// Returns the attempt of its user that a process names in its environment.
    private func attempt(ofTagOf pid: Int32) throws(SystemError) -> AttemptID? {
        let trees = try self.trees(ofUserOf: pid)
        guard let uid = trees.first?.uid, let environment = environments.environment(of: pid, uid: uid),
            let tag = AttemptTag(environment: environment)
        else { return nil }
        return trees.first { $0.matches(tag) }?.attempt
    }

    /// Returns the living processes of attempts, each named with its main process. Lists all processes of the machine once.
    func members(of attempts: [(attempt: AttemptID, main: Int32)]) throws(SystemError) -> [ProcessRecord] {
        var childrenOf: [Int32: [ProcessRecord]] = [:]
        for record in try ProcessRecord.all() { childrenOf[record.parent, default: []].append(record) }
        // Only descendants of this process: the pid of a main process that has ended may belong to another process.
        var inSession: [Int32: [ProcessRecord]] = [:]
        var adopted: [AttemptID: [ProcessRecord]] = [:]
        for record in DescendantTracker.below(childrenOf[Identity.pid] ?? [], childrenOf) {
            inSession[record.session, default: []].append(record)
            if let owner = orphans[record.pid] ?? nil { adopted[owner, default: []].append(record) }
        }
        var members: [ProcessRecord] = []
        for (attempt, main) in attempts {
            var tops = adopted[attempt] ?? []
            if sessions[main] == attempt {
                let own = inSession[main] ?? []
                // The main process first, so that it does not see its children killed and end as if nothing were wrong.
                tops += own.filter { $0.pid != main } + own.filter { $0.pid == main }
            }
            members += DescendantTracker.below(tops, childrenOf).filter { !$0.hasEnded }
        }
        return members
    }

    /// Returns `tops` and all their descendants, the descendants of the last one first.
    private static func below(_ tops: [ProcessRecord], _ childrenOf: [Int32: [ProcessRecord]]) -> [ProcessRecord] {
        var open = tops
        var seen: Set<Int32> = []
        var found: [ProcessRecord] = []
        while let record = open.popLast() {
            guard seen.insert(record.pid).inserted else { continue }
            found.append(record)
            open += childrenOf[record.pid] ?? []
        }
        return found
    }
}

internal import OpsSystem

/// Trees without control groups: this process adopts orphans, so every living process of an operation has an
/// ancestor among our own children, a main process or an adopted one.
///
/// Limit: an orphan is recognised by its session or by OPS_ID and OPS_ATTEMPT in its environment. One that has given
/// up both is counted to an operation only while no other of its user is alive. The environment counts only for the
/// user of the operation that it names: anyone can write it.
struct Descent {
    /// Adopted children, and whose they are (`nil`: nobody can say).
    private(set) var orphans: [Int32: Attempt?] = [:]
    private struct Tree {
        var attempt: Attempt
        /// The OPS_SOCKET its processes were given; `nil`: no longer known.
        var socket: String?
        var uid: UInt32

        func isNamed(by badge: Badge) -> Bool {
            attempt == badge.attempt && (socket ?? badge.socket) == badge.socket
        }
    }

    /// Living trees, by the session of their main process.
    private var sessions: [Int32: Tree] = [:]

    mutating func begin(_ attempt: Attempt, main: Int32, socket: String?, uid: UInt32) {
        sessions[main] = Tree(attempt: attempt, socket: socket, uid: uid)
    }

    mutating func end(_ attempt: Attempt, main: Int32) {
        // The number may belong to another main process by now.
        if sessions[main]?.attempt == attempt { sessions[main] = nil }
    }

    var isEmpty: Bool { sessions.isEmpty }

    mutating func collected(_ pid: Int32) { orphans[pid] = nil }

    /// Takes note of the children that are neither a main process nor a helper of the runner's own.
    mutating func adopt(mains: [Int32: Attempt], except isHelper: (Int32) -> Bool) throws(SystemError) {
        for pid in try Children.all() where mains[pid] == nil && orphans[pid] == nil && !isHelper(pid) {
            orphans[pid] = .some(try owner(of: pid))
        }
    }

    func hasOrphan(of attempt: Attempt) -> Bool { orphans.values.contains { $0 == attempt } }

    /// Whose process this is, by what it still carries.
    private func owner(of pid: Int32) throws(SystemError) -> Attempt? {
        if let session = try ProcessRecord.read(pid)?.session, let tree = sessions[session] { return tree.attempt }
        let trees = try self.trees(believing: pid)
        if trees.isEmpty { return nil }
        if let badge = Badge(environment: ProcessRecord.environment(of: pid)), isOurs(badge) {
            let named = trees.first { $0.isNamed(by: badge) }?.attempt
            // One that wears a badge of ours is that attempt's alone, also when it was left behind by one that is over.
            // The badge of another user's attempt says nothing.
            if named != nil || !sessions.values.contains(where: { $0.isNamed(by: badge) }) { return named }
        }
        return trees.count == 1 ? trees.first?.attempt : nil
    }

    /// Returns the living trees of the user who gave a process its environment.
    private func trees(believing pid: Int32) throws(SystemError) -> [Tree] {
        guard let users = try ProcessRecord.users(of: pid) else { return [] }
        return sessions.values.filter { users.speak(for: $0.uid) }
    }

    /// Whether the daemon that it names is one that we start processes for.
    private func isOurs(_ badge: Badge) -> Bool {
        sessions.values.contains { ($0.socket ?? badge.socket) == badge.socket }
    }

    /// Whose process sent something: by its ancestors.
    func owner(ofDescendant pid: Int32, mains: [Int32: Attempt]) throws(SystemError) -> Attempt? {
        var next = pid
        // Bounded: ancestors may end and change while we walk.
        for _ in 0..<256 {
            if let attempt = mains[next] ?? orphans[next] ?? nil { return attempt }
            guard let record = try ProcessRecord.read(next) else { break }
            if let tree = sessions[record.session] { return tree.attempt }
            if record.parent <= 1 || record.parent == Identity.pid { break }
            next = record.parent
        }
        let trees = try self.trees(believing: pid)
        guard !trees.isEmpty, let badge = Badge(environment: ProcessRecord.environment(of: pid)) else { return nil }
        return trees.first { $0.isNamed(by: badge) }?.attempt
    }

    /// The living processes of attempts (each with its main process), in one look at the machine for all of them.
    func members(of attempts: [(attempt: Attempt, main: Int32)]) throws(SystemError) -> [ProcessRecord] {
        var childrenOf: [Int32: [ProcessRecord]] = [:]
        for record in try ProcessRecord.all() { childrenOf[record.parent, default: []].append(record) }
        // Only below ourselves: the pid of a main process that has ended may be anybody's.
        var inSession: [Int32: [ProcessRecord]] = [:]
        var adopted: [Attempt: [ProcessRecord]] = [:]
        for record in Descent.below(childrenOf[Identity.pid] ?? [], childrenOf) {
            inSession[record.session, default: []].append(record)
            if let owner = orphans[record.pid] ?? nil { adopted[owner, default: []].append(record) }
        }
        var members: [ProcessRecord] = []
        for (attempt, main) in attempts {
            var tops = adopted[attempt] ?? []
            if sessions[main]?.attempt == attempt {
                let own = inSession[main] ?? []
                // The main process first, so that it does not see its children killed and end as if nothing were wrong.
                tops += own.filter { $0.pid != main } + own.filter { $0.pid == main }
            }
            members += Descent.below(tops, childrenOf).filter { !$0.hasEnded }
        }
        return members
    }

    /// These and all their descendants, the last of these first.
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

/// What opsd put into the environment of an operation: which attempt it is, and of which daemon, since each of them
/// counts for itself.
struct Badge: Hashable {
    var attempt: Attempt
    /// Of the daemon.
    var socket: String

    init?(environment: [String]) {
        var operation: Int64?
        var number: Int32?
        var socket: String?
        for entry in environment {
            if entry.hasPrefix("OPS_ID=") { operation = Int64(entry.dropFirst(7)) }
            if entry.hasPrefix("OPS_ATTEMPT=") { number = Int32(entry.dropFirst(12)) }
            if entry.hasPrefix("OPS_SOCKET=") { socket = String(entry.dropFirst(11)) }
        }
        guard let operation, let number, let socket else { return nil }
        attempt = Attempt(operation: operation, number: number)
        self.socket = socket
    }
}

extension Attempt {
    /// The name of its control group.
    var groupName: String { "\(operation).\(number)" }

    init?(groupName: String) {
        let parts = groupName.split(separator: ".")
        guard parts.count == 2, let operation = Int64(parts[0]), let number = Int32(parts[1]) else { return nil }
        self.init(operation: operation, number: number)
    }
}

/// An operation in a picture.
public struct DrawnOperation: Sendable {
    public var id: Int
    public var title: String
    public var status: DrawnStatus
    /// Index of the group that contains the operation.
    public var group: Int?
    public var isGroup: Bool
    public var cause: String?
    /// Instants of pictures are nanoseconds since 1970.
    public var readyAt: Int64?
    public var startedAt: Int64?
    public var finishedAt: Int64?

    public init(
        id: Int, title: String, status: DrawnStatus, group: Int? = nil, isGroup: Bool = false, cause: String? = nil,
        readyAt: Int64? = nil, startedAt: Int64? = nil, finishedAt: Int64? = nil
    ) {
        self.id = id
        self.title = title
        self.status = status
        self.group = group
        self.isGroup = isGroup
        self.cause = cause
        self.readyAt = readyAt
        self.startedAt = startedAt
        self.finishedAt = finishedAt
    }

    /// Returns the nanoseconds for which the operation has run.
    func runningTime(now: Int64) -> Int64? { startedAt.map { max(0, (finishedAt ?? now) - $0) } }
}

/// The word and the symbol of a state, with the tone in which it is drawn.
public struct DrawnStatus: Equatable, Sendable {
    public var word: String
    public var symbol: String
    public var tone: Tone

    public init(word: String, symbol: String, tone: Tone) {
        self.word = word
        self.symbol = symbol
        self.tone = tone
    }
}

/// Meaning of a colour. The order is that of legends.
public enum Tone: Int, CaseIterable, Sendable {
    case succeeded, failed, timedOut, interrupted, cancelled, executing, ready, held, waiting

    var name: String { "\(self)" }
}

/// A dependency: the operation at `to` waits for the one at `from`.
public struct DrawnEdge: Hashable, Sendable {
    public var from: Int
    public var to: Int
    /// Outcome that the dependency requires: "succeeded", "failed", "finished".
    public var when: String

    public init(from: Int, to: Int, when: String) {
        self.from = from
        self.to = to
        self.when = when
    }
}

/// A graph for pictures: operations, and the dependencies between their indices. A group comes before its children.
public struct DrawnGraph: Sendable {
    public var title: String
    public var operations: [DrawnOperation]
    public var edges: [DrawnEdge]

    public init(title: String, operations: [DrawnOperation], edges: [DrawnEdge]) {
        self.title = title
        self.operations = operations
        self.edges = edges
    }

    /// The operations that determined the duration of the graph, and the dependencies between them.
    public struct LongestPath: Sendable {
        public var operations: Set<Int> = []
        public var edges: Set<DrawnEdge> = []
    }

    /// Returns the last operation to finish, the last of its dependencies to finish, and so on.
    public func longestPath() -> LongestPath {
        var dependencies = [[DrawnEdge]](repeating: [], count: operations.count)
        for edge in edges { dependencies[edge.to].append(edge) }
        var members = [[Int]](repeating: [], count: operations.count)
        for (index, operation) in operations.enumerated() {
            if let group = operation.group { members[group].append(index) }
        }
        func end(_ index: Int) -> (Int64, Int) { (operations[index].finishedAt ?? .min, -index) }
        func hasRun(_ index: Int) -> Bool {
            operations[index].startedAt != nil && operations[index].finishedAt != nil
        }
        var path = LongestPath()
        var seen: Set<Int> = []
        var next = operations.indices.filter { !operations[$0].isGroup && hasRun($0) }.max { end($0) < end($1) }
        while let index = next, seen.insert(index).inserted {
            if operations[index].isGroup {
                next = members[index].filter(hasRun).max { end($0) < end($1) }
                continue
            }
            path.operations.insert(index)
            // An operation waits for the dependencies of the groups around it, too.
            var awaited = dependencies[index]
            var group = operations[index].group
            while let holder = group {
                awaited += dependencies[holder]
                group = operations[holder].group
            }
            let last = awaited.filter { hasRun($0.from) }.max { end($0.from) < end($1.from) }
            if let last { path.edges.insert(last) }
            next = last?.from
        }
        return path
    }
}

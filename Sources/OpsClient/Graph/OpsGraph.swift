public import OpsWire

/// Builder of a graph: operations, groups and the dependencies between them, stored together or not at all.
///
/// ```swift
/// var graph = OpsGraph("nightly")
/// let dump = graph.add(["pg_dump", "db"], name: "dump")
/// graph.add(["upload", "db"], after: [.init(dump)])
/// let reply = try Connection(path: SocketPath.find()).submit(graph)
/// ```
public struct OpsGraph: Sendable {
    /// An operation of a graph that has not been submitted.
    public struct Node: Sendable, Hashable {
        public let name: String
        let index: Int
    }

    /// A dependency on another operation of the graph.
    public struct After: Sendable {
        let name: String
        let when: EdgeCondition

        public init(_ node: Node, _ when: EdgeCondition = .succeeded) {
            name = node.name
            self.when = when
        }
    }

    public var name: String?
    /// Idempotency key: a second submission of the same user with this key returns the operations of the first one.
    public var key: String?
    private var operations: [OpsOperationKeys] = []
    /// Indices of the operations that are in no group.
    private var roots: [Int] = []
    private var names: Set<String> = []

    public init(_ name: String? = nil) { self.name = name }

    public var count: Int { operations.count }

    /// Adds an operation that runs a command. An operation without a name gets one.
    @discardableResult
    public mutating func add(
        _ command: [String], name: String? = nil, after: [After] = [], in group: Node? = nil,
        _ fill: (inout OpsOperationKeys) -> Void = { _ in }
    ) -> Node {
        var keys = OpsOperationKeys(command: command)
        fill(&keys)
        return append(keys, name, after, group)
    }

    /// Adds an operation that runs a line of `/bin/sh`. An operation without a name gets one.
    @discardableResult
    public mutating func add(
        shell: String, name: String? = nil, after: [After] = [], in group: Node? = nil,
        _ fill: (inout OpsOperationKeys) -> Void = { _ in }
    ) -> Node {
        add(["/bin/sh", "-c", shell], name: name, after: after, in: group, fill)
    }

    /// Adds a group; `add(in:)` adds operations to it. At most `limit` of them run at a time.
    @discardableResult
    public mutating func group(_ name: String, limit: Int? = nil, after: [After] = [], in group: Node? = nil) -> Node {
        var keys = OpsOperationKeys()
        keys.children = []
        keys.childLimit = limit
        return append(keys, name, after, group)
    }

    private mutating func append(_ keys: OpsOperationKeys, _ name: String?, _ after: [After], _ group: Node?) -> Node {
        var keys = keys
        var made = name ?? "operation\(operations.count + 1)"
        while name == nil, names.contains(made) { made += "_" }
        names.insert(made)
        keys.name = made
        keys.after += after.map { OpsOperationKeys.Dependency(target: .name($0.name), when: $0.when) }
        let index = operations.count
        operations.append(keys)
        if let group { operations[group.index].children?.append(index) } else { roots.append(index) }
        return Node(name: made, index: index)
    }

    var submission: Submission {
        var submission = Submission(texts: roots.map { operations[$0].json(in: operations) })
        submission.terms.name = name
        submission.terms.key = key
        submission.terms.list = true
        submission.surroundings = .all
        return submission
    }
}

extension Submission {
    /// Creates a submission of operations, each given as a JSON object.
    init(texts: [[UInt8]]) {
        var text: [UInt8] = []
        var ranges: [Range<Int>] = []
        for one in texts {
            ranges.append(text.count..<text.count + one.count)
            text += one
        }
        self.init(ranges, in: text)
    }
}

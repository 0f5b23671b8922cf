internal import OpsWire

/// Keys of one operation, as in opsd-graph(5). If a key is nil, the daemon uses its default.
public struct OpsOperationKeys: Sendable {
    struct Dependency: Sendable {
        enum Target: Sendable {
            case name(String)
            case id(Int64)
        }
        var target: Target
        var when: EdgeCondition
    }

    public var command: [String] = []
    public var queue: String?
    /// Priority from -100 to 100.
    public var priority: Int?
    public var qualityOfService: OpsQualityOfService?
    /// Categories in the short form of opsd-graph(5): `db`, `disk:shared`, `gpu:2`.
    public var categories: [String] = []
    public var environment: [String: String] = [:]
    public var labels: [String: String] = [:]
    public var directory: String?
    public var stdin: String?
    /// Maximum duration of an attempt in seconds.
    public var timeout: Double?
    /// Number of attempts after the first.
    public var retries: Int?
    public var isHeld = false
    public var isBarrier = false
    var name: String?
    /// Indices of the children of a group in its graph; nil for an operation that is not a group.
    var children: [Int]?
    var childLimit: Int?
    var after: [Dependency] = []

    public init(command: [String] = []) { self.command = command }

    /// Returns a duration in the format of graph files; nil for an infinite one.
    static func milliseconds(_ seconds: Double) -> String? {
        guard seconds.isFinite else { return nil }
        let longest = Double(Limits.duration.milliseconds)
        return "\(Int64(min(max(seconds * 1000, -longest), longest).rounded(.up)))ms"
    }

    /// Returns the operation as a JSON object, with its children taken from the operations of a graph.
    func json(in graph: [OpsOperationKeys] = []) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.optional("name", name)
        if let children {
            writer.key("operations")
            writer.beginArray()
            for child in children { writer.raw(graph[child].json(in: graph)) }
            writer.endArray()
            writer.optional("limit", childLimit)
        } else {
            writer.key("command")
            writer.strings(command)
        }
        writer.optional("queue", queue)
        writer.optional("priority", priority)
        writer.optional("qos", qualityOfService?.rawValue)
        writer.optional("directory", directory)
        writer.optional("stdin", stdin)
        writer.optional("timeout", timeout.flatMap(Self.milliseconds))
        if let retries {
            writer.key("retry")
            writer.beginObject()
            writer.optional("limit", retries)
            writer.endObject()
        }
        if !categories.isEmpty {
            writer.key("categories")
            writer.strings(categories)
        }
        writer.map("environment", environment)
        writer.map("labels", labels)
        if isHeld { writer.flag("held") }
        if isBarrier { writer.flag("barrier") }
        if !after.isEmpty {
            writer.key("after")
            writer.beginArray()
            for dependency in after {
                writer.beginObject()
                writer.key("op")
                switch dependency.target {
                case .name(let name): writer.string(name)
                case .id(let id): writer.integer(id)
                }
                writer.key("when")
                writer.string(dependency.when.rawValue)
                writer.endObject()
            }
            writer.endArray()
        }
        writer.endObject()
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func optional(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    fileprivate mutating func optional(_ name: String, _ value: Int?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    fileprivate mutating func flag(_ name: String) {
        key(name)
        bool(true)
    }

    fileprivate mutating func strings(_ values: [String]) {
        beginArray()
        for value in values { string(value) }
        endArray()
    }

    fileprivate mutating func map(_ name: String, _ values: [String: String]) {
        guard !values.isEmpty else { return }
        key(name)
        beginObject()
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            key(name)
            string(value)
        }
        endObject()
    }
}

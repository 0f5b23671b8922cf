internal import OpsWire

/// The latest events, by sequence number, for readers at different positions.
struct EventHistory {
    private struct Entry {
        var seq: Int64
        var operation: Int64?
        var graph: String?
    }

    private var entries: [Entry] = []
    private var start = 0
    /// Number of the last event before the oldest entry.
    private var floor: Int64
    /// Number of the newest event.
    private(set) var head: Int64

    /// Maximum number of events that are kept.
    static let limit = 4096
    /// Maximum number of operations that a summary names.
    static let named = 200

    init(after head: Int64) {
        floor = head
        self.head = head
    }

    mutating func add(_ event: EventRow) {
        guard event.seq > head else { return }
        entries.append(Entry(seq: event.seq, operation: event.id, graph: event.graph))
        head = event.seq
        guard entries.count - start > Self.limit else { return }
        floor = entries[start].seq
        start += 1
        if start == Self.limit {
            entries.removeFirst(start)
            start = 0
        }
    }

    /// Returns the message for a reader that has seen everything up to `cursor`: one range of event numbers after the
    /// last one, and the operations and graphs of its events; null instead of a list means that any of them may have
    /// changed.
    func summary(after cursor: Int64) -> [UInt8] {
        var operations: Set<Int64>? = []
        var graphs: Set<String>? = []
        // A reader from before the history, or of another database, has to read everything again.
        if cursor < floor || cursor > head {
            (operations, graphs) = (nil, nil)
        } else {
            var index = entries.count
            while index > start, entries[index - 1].seq > cursor { index -= 1 }
            for entry in entries[index...] {
                if let id = entry.operation { operations?.insert(id) }
                if let graph = entry.graph { graphs?.insert(graph) }
                if operations?.count ?? 0 > Self.named { operations = nil }
                if graphs?.count ?? 0 > Self.named { graphs = nil }
                if operations == nil && graphs == nil { break }
            }
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("from")
        writer.integer(min(cursor, head) + 1)
        writer.key("to")
        writer.integer(head)
        writer.key("operations")
        Self.write(operations?.sorted(), to: &writer) { $1.integer($0) }
        writer.key("graphs")
        Self.write(graphs?.sorted(), to: &writer) { $1.string($0) }
        writer.endObject()
        return Array("id: \(head)\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8)
    }

    private static func write<Element>(
        _ list: [Element]?, to writer: inout JSONWriter, _ element: (Element, inout JSONWriter) -> Void
    ) {
        guard let list else { return writer.null() }
        writer.beginArray()
        for value in list { element(value, &writer) }
        writer.endArray()
    }
}

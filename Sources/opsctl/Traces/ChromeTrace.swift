internal import OpsWire

/// A graph in the Trace Event Format: one process, one thread for each operation, complete events in microseconds, and
/// flow events for dependencies.
struct ChromeTrace {
    private var json = JSONWriter()

    var text: [UInt8] { json.bytes }

    init(_ graph: TraceGraph) {
        json.beginObject()
        json.key("displayTimeUnit")
        json.string("ms")
        json.key("otherData")
        json.object {
            $0.member("graph", graph.id)
            $0.member("trace", graph.trace)
        }
        json.key("traceEvents")
        json.beginArray()
        metadata("process_name", 0, "name", "\(graph.id) \(graph.title)")
        for operation in graph.operations {
            metadata("thread_name", operation.row.id, "name", "\(operation.row.id) \(operation.title)")
            add(operation)
        }
        let known = Dictionary(graph.operations.map { ($0.row.id, $0) }, uniquingKeysWith: { first, _ in first })
        for (index, edge) in graph.edges.enumerated() {
            guard let from = known[edge.on], let to = known[edge.from], !from.isRunning, let start = to.start,
                start >= from.end, from.start != nil
            else { continue }
            flow("s", index, from.row.id, from.attempts.last?.start ?? from.end)
            flow("f", index, to.row.id, start)
        }
        json.endArray()
        json.endObject()
    }

    private mutating func metadata(_ name: String, _ thread: Int64, _ key: String, _ value: String) {
        json.object { event in
            event.member("name", name)
            event.member("ph", "M")
            event.member("pid", 1)
            event.member("tid", Int(thread))
            event.key("args")
            event.object { $0.member(key, value) }
        }
    }

    private mutating func add(_ operation: TraceGraph.Operation) {
        let thread = operation.row.id
        for wait in operation.waits { complete(wait.name, "wait", thread, wait.start, wait.end) { _ in } }
        if operation.attempts.isEmpty, let start = operation.start {
            complete(operation.title, "group", thread, start, operation.end) { Self.write(operation, to: &$0) }
        }
        for attempt in operation.attempts {
            complete(operation.title, "attempt", thread, attempt.start, attempt.end ?? operation.end) { arguments in
                arguments.member("attempt", attempt.number)
                arguments.member("outcome", attempt.outcome?.rawValue ?? "executing")
                arguments.member("cause", attempt.cause)
                Self.write(operation, to: &arguments)
            }
        }
        if operation.start == nil, let outcome = operation.row.outcome {
            let end = operation.row.notNeeded ? "not needed" : outcome.rawValue
            json.object { event in
                event.member("name", "\(operation.title) \(end)")
                event.member("cat", "end")
                event.member("ph", "i")
                event.member("s", "t")
                event.member("pid", 1)
                event.member("tid", Int(thread))
                Self.time("ts", operation.end, to: &event)
                event.key("args")
                event.object { $0.member("cause", operation.row.cause) }
            }
        }
    }

    private static func write(_ operation: TraceGraph.Operation, to arguments: inout JSONWriter) {
        arguments.member("id", Int(operation.row.id))
        arguments.member("queue", operation.row.queue)
        arguments.member("user", operation.row.user)
        if let command = operation.row.command { arguments.member("command", OperationRow.shown(command)) }
    }

    private mutating func complete(
        _ name: String, _ category: String, _ thread: Int64, _ start: Int64, _ end: Int64,
        _ fill: (inout JSONWriter) -> Void
    ) {
        json.object { event in
            event.member("name", name)
            event.member("cat", category)
            event.member("ph", "X")
            event.member("pid", 1)
            event.member("tid", Int(thread))
            Self.time("ts", start, to: &event)
            Self.time("dur", max(0, end - start), to: &event)
            event.key("args")
            event.object(fill)
        }
    }

    /// Writes an end of an arrow between operations; `phase` is "s" at its start and "f" at its end.
    private mutating func flow(_ phase: String, _ id: Int, _ thread: Int64, _ at: Int64) {
        json.object { event in
            event.member("name", "dependency")
            event.member("cat", "dependency")
            event.member("ph", phase)
            event.member("id", id + 1)
            if phase == "f" { event.member("bp", "e") }
            event.member("pid", 1)
            event.member("tid", Int(thread))
            Self.time("ts", at, to: &event)
        }
    }

    /// Writes an instant or a duration in microseconds.
    private static func time(_ key: String, _ nanoseconds: Int64, to event: inout JSONWriter) {
        event.member(key, Int(nanoseconds / 1000))
    }
}

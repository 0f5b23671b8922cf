internal import OpsSystem
internal import OpsWire

/// A graph in the JSON encoding of OTLP: ids in hexadecimal, 64-bit integers as texts, enumerations as numbers.
///
/// By the conventions for CI/CD, the graph is a run of a pipeline, and each operation a run of a task.
struct OTLPTrace {
    private enum Kind: Int {
        case inner = 1
        case server = 2
    }

    fileprivate enum Value {
        case text(String)
        case integer(Int64)
        case list([String])
    }

    private var json = JSONWriter()
    private let graph: TraceGraph
    /// Edges of each operation.
    private let targets: [Int64: [EdgeRow]]

    var text: [UInt8] { json.bytes }

    init(_ graph: TraceGraph) {
        self.graph = graph
        targets = Dictionary(grouping: graph.edges, by: \.from)
        json.beginObject()
        json.key("resourceSpans")
        json.beginArray()
        json.beginObject()
        json.key("resource")
        json.object {
            $0.attributes([("service.name", .text("opsd")), ("service.version", .text(Release.current.text))])
        }
        json.key("scopeSpans")
        json.beginArray()
        json.beginObject()
        json.key("scope")
        json.object {
            $0.member("name", "opsd")
            $0.member("version", Release.current.text)
        }
        json.key("spans")
        json.beginArray()
        addGraph()
        for operation in graph.operations { add(operation) }
        json.endArray()
        json.endObject()
        json.endArray()
        json.endObject()
        json.endArray()
        json.endObject()
    }

    private var root: String { span(0) }

    private func span(_ operation: Int64, _ attempt: Int = 0) -> String {
        TraceContext.span(trace: graph.trace, operation: operation, attempt: attempt)
    }

    private mutating func addGraph() {
        let failures = graph.operations.map(\.row).filter(\.isUnsuccessful).compactMap(\.outcome)
        // An operation is skipped because of another one, whose outcome is the reason.
        let failure = failures.first { $0 != .skipped } ?? failures.first
        var attributes: [(String, Value)] = [
            ("cicd.pipeline.name", .text(graph.title)), ("cicd.pipeline.run.id", .text(graph.id)),
        ]
        if graph.isRunning {
            attributes.append(("cicd.pipeline.run.state", .text("executing")))
        } else if let failure {
            attributes.append(("cicd.pipeline.result", .text("failure")))
            attributes.append(("error.type", .text(failure.rawValue)))
        } else {
            attributes.append(("cicd.pipeline.result", .text("success")))
        }
        begin(root, parent: nil, "RUN \(graph.title)", .server, graph.start, graph.end)
        json.attributes(attributes)
        end(isUnset: graph.isRunning, error: failure == nil ? nil : "an operation did not succeed")
    }

    private mutating func add(_ operation: TraceGraph.Operation) {
        let row = operation.row
        let own = span(row.id)
        let parent = row.group.map { span($0) } ?? root
        begin(own, parent: parent, "RUN \(operation.title)", .inner, operation.submitted, operation.end)
        var attributes: [(String, Value)] = [
            ("cicd.pipeline.task.name", .text(operation.title)), ("cicd.pipeline.task.run.id", .text("\(row.id)")),
            ("opsd.queue", .text(row.queue)), ("opsd.user", .text(row.user)),
            ("opsd.attempts", .integer(Int64(row.attempt))),
        ]
        if let result = Self.result(row.outcome) { attributes.append(("cicd.pipeline.task.run.result", .text(result))) }
        if let outcome = row.outcome { attributes += Self.attributes(of: outcome, isError: row.isUnsuccessful) }
        if let command = row.command { attributes.append(("process.command_args", .list(command))) }
        for label in row.labels.entries { attributes.append(("opsd.label.\(label.name)", .text(label.value))) }
        json.attributes(attributes)
        addEvents(operation)
        addLinks(row.id)
        end(isUnset: operation.isRunning, error: row.isUnsuccessful ? row.cause : nil)
        for attempt in operation.attempts { add(attempt, of: operation, inside: own) }
        for (index, wait) in operation.waits.enumerated() {
            // A span of waiting has a negative number, which no attempt has.
            begin(span(row.id, -1 - index), parent: own, wait.name, .inner, wait.start, wait.end)
            end(isUnset: true, error: nil)
        }
    }

    private mutating func add(_ attempt: TraceGraph.Attempt, of operation: TraceGraph.Operation, inside own: String) {
        begin(
            span(operation.row.id, attempt.number), parent: own, "attempt \(attempt.number)", .inner, attempt.start,
            attempt.end ?? operation.end)
        var attributes: [(String, Value)] = [("opsd.attempt", .integer(Int64(attempt.number)))]
        if let outcome = attempt.outcome { attributes += Self.attributes(of: outcome, isError: outcome != .succeeded) }
        if let code = attempt.exitCode { attributes.append(("process.exit.code", .integer(Int64(code)))) }
        json.attributes(attributes)
        end(isUnset: attempt.outcome == nil, error: attempt.outcome == .succeeded ? nil : attempt.cause)
    }

    /// Returns the outcome as attributes. A span with an error also has its type.
    private static func attributes(of outcome: OutcomeName, isError: Bool) -> [(String, Value)] {
        let name = Value.text(outcome.rawValue)
        return isError ? [("opsd.outcome", name), ("error.type", name)] : [("opsd.outcome", name)]
    }

    private static func result(_ outcome: OutcomeName?) -> String? {
        switch outcome {
        case nil: nil
        case .succeeded?: "success"
        case .failed?: "failure"
        case .timedOut?: "timeout"
        case .cancelled?: "cancellation"
        case .skipped?: "skip"
        default: "error"
        }
    }

    // MARK: Spans

    private mutating func begin(
        _ id: String, parent: String?, _ name: String, _ kind: Kind, _ start: Int64, _ end: Int64
    ) {
        json.beginObject()
        json.member("traceId", graph.trace)
        json.member("spanId", id)
        if let parent { json.member("parentSpanId", parent) }
        json.member("name", name)
        json.member("kind", kind.rawValue)
        json.member("startTimeUnixNano", "\(start)")
        json.member("endTimeUnixNano", "\(max(start, end))")
    }

    private mutating func end(isUnset: Bool, error: String?) {
        json.key("status")
        json.object {
            if let error, !isUnset {
                $0.member("message", error)
                $0.member("code", 2)
            } else if !isUnset {
                $0.member("code", 1)
            }
        }
        json.endObject()
    }

    private mutating func addEvents(_ operation: TraceGraph.Operation) {
        var events: [(String, Int64)] = [("submitted", operation.submitted)]
        if let ready = operation.ready { events.append(("ready", ready)) }
        if let start = operation.start { events.append(("started", start)) }
        if !operation.isRunning { events.append(("finished", operation.end)) }
        json.key("events")
        json.array { list in
            for (name, at) in events {
                list.object {
                    $0.member("timeUnixNano", "\(at)")
                    $0.member("name", name)
                }
            }
        }
    }

    /// Adds links to the dependencies of an operation.
    private mutating func addLinks(_ id: Int64) {
        guard let edges = targets[id] else { return }
        let targets = edges.map { (span: span($0.on), when: $0.when.rawValue) }
        let trace = graph.trace
        json.key("links")
        json.array { list in
            for target in targets {
                list.object {
                    $0.member("traceId", trace)
                    $0.member("spanId", target.span)
                    $0.attributes([("opsd.dependency.when", .text(target.when))])
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func attributes(_ attributes: [(String, OTLPTrace.Value)]) {
        key("attributes")
        array { list in
            for (name, value) in attributes {
                list.object {
                    $0.member("key", name)
                    $0.key("value")
                    $0.object { $0.value(value) }
                }
            }
        }
    }

    private mutating func value(_ value: OTLPTrace.Value) {
        switch value {
        case .text(let text): member("stringValue", text)
        case .integer(let number): member("intValue", "\(number)")
        case .list(let words):
            key("arrayValue")
            object { array in
                array.key("values")
                array.array { list in for word in words { list.object { $0.member("stringValue", word) } } }
            }
        }
    }
}

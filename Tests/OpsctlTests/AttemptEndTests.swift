import Foundation
import OpsWire
import Testing

@testable import opsctl

/// Output about operations whose last attempt has ended and which have not, or have ended later.
@Suite struct AttemptEndTests {
    /// An attempt that has failed after 160 ms.
    private let failed =
        #"{"attempt":1,"run":1,"outcome":"failed","cause":"exit status 3","exitCode":3,"#
        + #""startedAt":"2024-02-29T10:10:01.000Z","finishedAt":"2024-02-29T10:10:01.160Z"}"#

    /// Attempts of an executor: the second one waits in its engine since 5 s.
    private var attemptsInEngine: String {
        failed + #",{"attempt":2,"run":1,"outcome":null,"cause":null,"exitCode":null,"#
            + #""startedAt":"2024-02-29T10:10:05.000Z","finishedAt":null}"#
    }

    private func row(
        _ members: String, id: Int = 7, attempt: Int = 1, readyAt: String = "2024-02-29T10:10:01.162Z"
    ) -> String {
        #"{"id":\#(id),"name":"fetch","graph":"g1","queue":"default","attempt":\#(attempt),"user":"ann",\#(members),"#
            + #""submittedAt":"2024-02-29T10:10:00.000Z","readyAt":"\#(readyAt)"}"#
    }

    private var backingOff: String {
        row(#""state":"ready","outcome":null,"run":1,"startedAt":"2024-02-29T10:10:01.000Z","finishedAt":null"#)
    }
    private var cancelled: String {
        row(
            #""state":"finished","outcome":"cancelled","cause":"cancelled by ann","run":1,"#
                + #""startedAt":"2024-02-29T10:10:01.000Z","finishedAt":"2024-02-29T10:10:07.500Z""#)
    }
    private var retried: String {
        row(#""state":"ready","outcome":null,"run":2,"startedAt":null,"finishedAt":null"#)
    }
    private var succeeded: String {
        row(
            #""state":"finished","outcome":"succeeded","run":1,"#
                + #""startedAt":"2024-02-29T10:10:01.000Z","finishedAt":"2024-02-29T10:10:07.500Z""#)
    }

    /// Returns a daemon with these operations, the first of which has the attempt.
    private func standIn(_ rows: [String], attempts: String? = nil, losing: Set<String> = []) throws -> StandIn {
        try StandIn(
            [
                "Graph": [#"{"graph":"g1","name":"nightly","suspended":false,"nodes":[],"edges":[]}"#],
                "List": [#"{"operations":[\#(rows.joined(separator: ","))]}"#],
                "Show": [#"{"operation":\#(rows[0]),"attempts":[\#(attempts ?? failed)]}"#],
            ], losing: losing)
    }

    private func export(
        _ format: String, _ rows: [String], attempts: String? = nil, losing: Set<String> = []
    ) throws -> [String: Any] {
        let export = try standIn(rows, attempts: attempts, losing: losing).opsctl(["export", "g1", format])
        try #require(export.status == 0, "\(export.err)")
        let trace = try JSONSerialization.jsonObject(with: Data(export.out.utf8))
        return try #require(trace as? [String: Any])
    }

    /// Returns the outcomes of the attempts and the names of the waits, with their lengths in microseconds.
    private func spans(
        _ rows: String..., among attempts: String? = nil, losing: Set<String> = []
    ) throws -> (attempts: [String], waits: [String]) {
        let trace = try export("--chrome", rows, attempts: attempts, losing: losing)
        let events = try #require(trace["traceEvents"] as? [[String: Any]])
        func described(_ category: String, _ word: ([String: Any]) -> String?) -> [String] {
            events.filter { $0["cat"] as? String == category }.map { event in
                "\(word(event) ?? "-") \(event["dur"] as? Int ?? -1)"
            }
        }
        let attempts = described("attempt") { ($0["args"] as? [String: Any])?["outcome"] as? String }
        return (attempts, described("wait") { $0["name"] as? String })
    }

    @Test func `a trace has the end of an attempt after which its operation waits for another one`() throws {
        for row in [backingOff, cancelled, retried] {
            let found = try spans(row)
            #expect(found.attempts == ["failed 160000"], "\(row)")
            #expect(found.waits.last?.hasPrefix("waiting to retry ") == true, "\(found.waits) of \(row)")
        }
        #expect(try spans(cancelled).waits == ["blocked 1000000", "waiting to retry 6340000"])
    }

    @Test func `a trace for OpenTelemetry has the end and the outcome of such an attempt`() throws {
        let trace = try export("--otlp", [cancelled])
        let resource = try #require((trace["resourceSpans"] as? [[String: Any]])?.first)
        let scope = try #require((resource["scopeSpans"] as? [[String: Any]])?.first)
        let spans = try #require(scope["spans"] as? [[String: Any]])
        let attempt = try #require(spans.first { $0["name"] as? String == "attempt 1" })
        #expect(attempt["startTimeUnixNano"] as? String == "1709201401000000000")
        #expect(attempt["endTimeUnixNano"] as? String == "1709201401160000000")
        #expect((attempt["status"] as? [String: Any])?["message"] as? String == "exit status 3")
        #expect(spans.contains { $0["name"] as? String == "waiting to retry" })
    }

    @Test func `a trace has the end of an attempt whose children run on`() throws {
        let times = #""startedAt":"2024-02-29T10:10:01.000Z","finishedAt":null"#
        let cancelled =
            #""cause":"cancelled by ann","#
            + #""startedAt":"2024-02-29T10:10:01.000Z","finishedAt":"2024-02-29T10:10:07.500Z""#
        let child = row(#""state":"executing","outcome":null,"run":1,"group":7,\#(times)"#, id: 8)
        for members in [
            #""state":"executing","outcome":null,"run":1,\#(times)"#,
            #""state":"finished","outcome":"cancelled","run":1,\#(cancelled)"#,
        ] {
            let found = try spans(row(members, readyAt: "2024-02-29T10:10:00.500Z"), child)
            #expect(found.attempts.first == "failed 160000", "\(found.attempts)")
            #expect(!found.waits.contains { $0.hasPrefix("waiting to retry") }, "\(found.waits)")
        }
    }

    @Test func `the time between the end of an operation and its retry is no wait`() throws {
        let cancelled = row(
            #""state":"finished","outcome":"cancelled","cause":"cancelled by ann","run":2,"#
                + #""startedAt":null,"finishedAt":"2024-03-04T08:00:03.000Z""#, readyAt: "2024-03-04T08:00:01.000Z")
        #expect(try spans(cancelled).waits == ["blocked 1000000", "waiting to retry 2000000"])
        let again =
            #",{"attempt":2,"run":2,"outcome":"succeeded","cause":null,"exitCode":0,"#
            + #""startedAt":"2024-03-04T08:00:02.000Z","finishedAt":"2024-03-04T08:00:03.000Z"}"#
        let repeated = row(
            #""state":"finished","outcome":"succeeded","run":2,"#
                + #""startedAt":"2024-03-04T08:00:02.000Z","finishedAt":"2024-03-04T08:00:03.000Z""#,
            attempt: 2, readyAt: "2024-03-04T08:00:01.000Z")
        let found = try spans(repeated, among: failed + again)
        #expect(found.attempts == ["failed 160000", "succeeded 1000000"])
        #expect(found.waits == ["blocked 1000000", "waiting to retry 1000000"])
    }

    @Test func `a trace has no attempt that waits in the engine of its executor`() throws {
        let times = #""startedAt":"2024-02-29T10:10:01.000Z","finishedAt":"2024-02-29T10:10:07.500Z""#
        let cancelled = row(
            #""state":"finished","outcome":"cancelled","cause":"cancelled by ann","run":1,\#(times)"#, attempt: 2)
        let found = try spans(cancelled, among: attemptsInEngine)
        #expect(found.attempts == ["failed 160000"])
        #expect(found.waits == ["blocked 1000000", "waiting to retry 6340000"])
    }

    @Test func `show counts no wait in the engine of an executor as running time`() throws {
        let executing = #""state":"executing","outcome":null,"run":1,"finishedAt":null"#
        let waiting = row(#"\#(executing),"startedAt":"2024-02-29T10:10:01.000Z""#, attempt: 2)
        let shown = try standIn([waiting], attempts: attemptsInEngine).opsctl(["show", "7"]).out
        #expect(shown.contains("  ran  160ms\n") && !shown.contains("  runs  "), "\(shown)")
        let started = row(
            #"\#(executing),"startedAt":"2024-02-29T10:10:05.000Z""#, attempt: 2, readyAt: "2024-02-29T10:10:04.000Z")
        let running = try standIn([started], attempts: attemptsInEngine).opsctl(["show", "7"]).out
        #expect(running.contains("  runs  ") && !running.contains("  ran  "), "\(running)")
    }

    @Test func `an operation that has succeeded at once needs no call for its trace`() throws {
        #expect(try spans(succeeded, losing: ["Show"]).attempts == ["succeeded 6500000"])
    }

    @Test func `an operation that has failed with its only attempt needs no call for its trace`() throws {
        let ended = row(
            #""state":"finished","outcome":"failed","cause":"exit status 3","run":1,"#
                + #""startedAt":"2024-02-29T10:10:01.000Z","finishedAt":"2024-02-29T10:10:01.160Z""#,
            readyAt: "2024-02-29T10:10:00.500Z")
        #expect(try spans(ended, losing: ["Show"]).attempts == ["failed 160000"])
    }

    @Test func `show counts no back-off as running time`() throws {
        let ended = try standIn([cancelled]).opsctl(["show", "7"]).out
        #expect(ended.contains("(ran 160ms)"), "\(ended)")
        #expect(ended.contains("\nattempts\n") && ended.contains("exit status 3"), "\(ended)")
        let waiting = try standIn([backingOff]).opsctl(["show", "7"]).out
        #expect(waiting.contains("  ran  160ms\n") && !waiting.contains("  runs  "), "\(waiting)")
        #expect(waiting.contains("\nattempts\n"), "\(waiting)")
    }

    @Test func `show lists no single attempt that has ended with its operation`() throws {
        let ended = row(
            #""state":"finished","outcome":"failed","cause":"exit status 3","run":1,"#
                + #""startedAt":"2024-02-29T10:10:01.000Z","finishedAt":"2024-02-29T10:10:01.160Z""#)
        let shown = try standIn([ended]).opsctl(["show", "7"]).out
        #expect(shown.contains("(ran 160ms)") && !shown.contains("attempts"), "\(shown)")
    }

    @Test func `the age of an operation is the time of its last attempt or of its wait`() throws {
        let now = try #require(Instant.rfc3339("2024-02-29T10:10:05.162Z"))
        var row = OperationRow()
        row.submittedAt = "2024-02-29T10:10:00.000Z"
        row.startedAt = "2024-02-29T10:10:01.000Z"
        row.readyAt = "2024-02-29T10:10:01.162Z"
        row.state = .ready
        #expect(row.age(now: now) == Span(milliseconds: 4000))
        row.state = .finished
        row.outcome = .cancelled
        row.finishedAt = "2024-02-29T10:10:07.500Z"
        #expect(row.age(now: now) == Span(milliseconds: 162))
        row.readyAt = "2024-02-29T10:10:00.500Z"
        #expect(row.age(now: now) == Span(milliseconds: 6500))
        row.readyAt = nil
        row.startedAt = nil
        #expect(row.age(now: now) == Span(milliseconds: 7500))
    }
}

import OpsWire
import Testing

@testable import OpsClient

/// Messages of a submission are written without intermediate values; the daemon must read them like typed requests.
@Suite struct SubmissionMessageTests {
    private let text = Array(#"{"command":["a"]} {"command":["b"]} {"command":["c"]}"#.utf8)
    private let places = [0..<17, 18..<35, 36..<53]

    private var terms: BeginSubmissionRequest {
        .with {
            $0.name = "nightly"
            $0.defaults = RawJSON(Array(#"{"queue":"q"}"#.utf8))
            $0.inside = 7
            $0.child = true
            $0.key = "k"
            $0.unlessActive = "u"
            $0.dryRun = true
            $0.list = true
        }
    }

    private func read(_ message: [UInt8]?) throws -> ControlRequest {
        let message = try #require(message)
        #expect(message.last == 0)
        return try ControlRequest(try Call(frame: Array(message.dropLast())))
    }

    @Test(arguments: [Surroundings.all, .clean]) func `the daemon reads what the typed request says`(
        _ surroundings: Surroundings
    ) throws {
        var submission = Submission(places, in: text)
        submission.terms = terms
        submission.surroundings = surroundings
        let expected = SubmitRequest.with {
            $0.terms = terms
            $0.terms.capture = surroundings.capture
            $0.operations = RawElements(Array(#"[{"command":["a"]},{"command":["b"]},{"command":["c"]}]"#.utf8))
        }
        #expect(try read(submission.message) == .submit(expected))
        #expect(submission.beginning == expected.terms)
    }

    @Test func `one operation is an array of one`() throws {
        let submission = Submission(Array("{}".utf8))
        let expected = SubmitRequest.with { $0.operations = RawElements(Array("[{}]".utf8)) }
        #expect(try read(submission.message) == .submit(expected))
    }

    @Test func `a clean environment has only the variables that say who and where`() {
        let all = Surroundings.all.capture.environment.entries.map(\.name)
        let clean = Surroundings.clean.capture.environment.entries.map(\.name)
        let kept: Set = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ"]
        #expect(clean == all.filter { kept.contains($0) || $0.hasPrefix("LC_") })
        #expect(!all.contains { $0.hasPrefix("OPS_") || $0 == "NOTIFY_SOCKET" })
    }

    @Test func `a large submission goes in parts that together are the whole`() throws {
        let operation = Array(#"{"command":["\#(String(repeating: "x", count: 1 << 20))"]}"#.utf8)
        let count = 9
        let text = Array(repeating: operation, count: count).flatMap { $0 }
        let submission = Submission((0..<count).map { $0 * operation.count..<($0 + 1) * operation.count }, in: text)
        #expect(submission.message == nil)
        let parts = Array(submission.parts)
        #expect(parts.count > 1)
        #expect(parts.allSatisfy { $0.operations.bytes.count <= Submission.partSize + operation.count })
        var whole: [UInt8] = []
        for part in parts { whole += part.operations.bytes.dropFirst().dropLast() + [UInt8(ascii: ",")] }
        #expect(
            whole == Array(Array(repeating: operation, count: count).joined(separator: [UInt8(ascii: ",")])) + [0x2c])
    }
}

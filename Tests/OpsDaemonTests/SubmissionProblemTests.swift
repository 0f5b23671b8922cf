import OpsWire
import Testing

@testable import OpsDaemon

@Suite struct SubmissionProblemTests {
    private func problems(_ operations: [String]) throws -> [Problem] {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let failure = try client.refusal(Client.submission("[" + operations.joined(separator: ",") + "]"))
        guard case .control(.invalidOperation(let problems)) = failure else {
            Issue.record("not refused: \(String(describing: failure))")
            return []
        }
        return problems
    }

    @Test func `problems of each kind are told together`() throws {
        let found = try problems([
            #"{"command":["a"],"queue":"q"}"#, #"{"command":["b"],"after":["x"]}"#,
            #"{"command":["c"],"user":"no such user"}"#, #"{"command":["d"],"environment":{"OPS_ID":"1"}}"#,
        ])
        #expect(found.map(\.key) == ["queue", "after", "user", "environment.OPS_ID"])
        #expect(found.map(\.index) == [0, 1, 2, 3])
    }

    @Test func `a child of an operation that does not exist is refused as not found`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        var request = Client.submission(#"[{"command":["true"]}]"#)
        request.terms.inside = 99
        request.terms.child = true
        let error = ControlError.notFound(kind: "operation", name: "99", nearest: nil)
        #expect(try client.refusal(request) == .control(error))
    }

    @Test func `a submission has either a key or a key of unfinished operations`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        var request = Client.submission(#"[{"command":["true"]}]"#)
        request.terms.key = "a"
        request.terms.unlessActive = "b"
        guard case .control(.invalidOperation(let problems)) = try client.refusal(request) else {
            Issue.record("not refused")
            return
        }
        #expect(problems.map(\.key) == ["unlessActive"])
        #expect(problems.map(\.message) == [#"there is also a "key"; only one of them is possible"#])
        request.terms.key = nil
        #expect(try !client.call(request).existing)
    }

    @Test(arguments: [("here", 0, "capture.directory"), ("/", -1, "capture.umask"), ("/", 0o1000, "capture.umask")])
    func `a captured directory is absolute and a captured umask has three octal digits`(
        directory: String, umask: Int, key: String
    ) throws {
        let fixture = try Fixture()
        var request = Client.submission(#"[{"command":["true"]}]"#)
        request.terms.capture = .with { ($0.directory, $0.umask) = (directory, umask) }
        guard case .control(.invalidOperation(let problems)) = try fixture.connect().refusal(request) else {
            Issue.record("not refused")
            return
        }
        #expect(problems.map(\.key) == [key])
    }

    @Test(arguments: [#""queue":"q%""#, #""after":["x%"]"#, #""environment":{"OPS_%":"1"}"#])
    func `no more problems are looked for than are told`(key: String) throws {
        let count = Limits.problems + 50
        let found = try problems((0..<count).map { #"{"command":["a"],"# + key.replacing("%", with: "\($0)") + "}" })
        #expect(found.map(\.index) == Array(0..<Limits.problems))
    }
}

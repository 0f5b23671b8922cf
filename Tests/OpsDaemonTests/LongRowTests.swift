import OpsStore
import OpsWire
import Testing

@testable import OpsDaemon

/// Commands of one user may be very long. Lists, which have operations of all users, are answered nevertheless.
@Suite struct LongRowTests {
    @Test(arguments: [false, true])
    func `a list has the beginning of a long command, and Show all of it`(isStream: Bool) throws {
        let client = try Fixture().connect()
        let argument = String(repeating: "é", count: 200_000)
        _ = try client.submit(#"[{"command":["true","\#(argument)","last"],"held":true}]"#)
        try client.send(ListRequest(), more: isStream)
        let listed = try #require(try client.receive()).result(ListReply.self)
        let command = try #require(listed.operations.first?.command)
        #expect(command.count == 2 && command[0] == "true")
        #expect(command[1].hasPrefix("ééé") && command[1].hasSuffix("é…") && command[1].utf8.count < 20_000)
        let shown = try client.call(ShowRequest.with { $0.ref = "1" })
        #expect(shown.operation.command == ["true", argument, "last"])
    }

    @Test func `a list has the first of very many words`() throws {
        let client = try Fixture().connect()
        let words = String(repeating: ",\"\"", count: 100_000)
        _ = try client.submit(#"[{"command":["true"\#(words)],"held":true}]"#)
        let command = try #require(try client.call(ListRequest()).operations.first?.command)
        #expect(command.first == "true" && command.last == "…")
        #expect(command.count > 1000 && command.count < 10_000)
    }

    @Test func `a list that is too large for a message has no long texts`() throws {
        let row = OperationRow.with {
            ($0.id, $0.name, $0.command, $0.note) = (7, "build", ["make", "all"], "see the log")
            $0.labels = StringMap([("team", "db")])
        }
        let whole = Requests.frame([row, row], continues: false)
        let most = try received(Requests.frame([row, row], continues: false, limit: whole.count))
        #expect(most.operations == [row, row])
        let brief = try received(Requests.frame([row, row], continues: false, limit: whole.count - 1))
        #expect(brief.operations.map(\.id) == [7, 7] && brief.operations[0].name == "build")
        #expect(brief.operations[0].command == nil && brief.operations[0].note == nil)
        #expect(brief.operations[0].labels.entries.isEmpty)
    }

    @Test func `an answer to a submission that is too large for a message has no operations`() throws {
        var reply = SubmitReply()
        (reply.graph, reply.first, reply.count) = ("g3", 7, 2)
        reply.operations = ["a", "b"].enumerated().map { index, name in
            .with { ($0.id, $0.name, $0.graph) = (7 + Int64(index), name, "g3") }
        }
        let whole = Requests.frame(reply)
        func answer(limit: Int) throws -> SubmitReply {
            try ReceivedReply(frame: Requests.frame(reply, limit: limit).dropLast()).result(SubmitReply.self)
        }
        #expect(try answer(limit: whole.count).operations?.map(\.name) == ["a", "b"])
        let shorter = try answer(limit: whole.count - 1)
        #expect(shorter.operations == nil && shorter.graph == "g3" && shorter.first == 7 && shorter.count == 2)
    }

    private func received(_ frame: [UInt8]) throws -> ListReply {
        try ReceivedReply(frame: frame.dropLast()).result(ListReply.self)
    }
}

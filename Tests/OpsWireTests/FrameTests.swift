import Testing

@testable import OpsWire

@Suite struct FrameTests {
    private func frames(_ chunks: [[UInt8]]) throws -> [String] {
        var decoder = FrameDecoder()
        var frames: [String] = []
        for chunk in chunks {
            decoder.append(chunk)
            while let frame = try decoder.next() { frames.append(String(decoding: frame, as: UTF8.self)) }
        }
        return frames
    }

    @Test func `a stream split anywhere gives the same messages`() throws {
        let stream = Array("{\"method\":\"a.b\"}\0\0{}\0rest".utf8)
        let expected = ["{\"method\":\"a.b\"}", "", "{}"]
        for first in 0...stream.count {
            for second in first...stream.count {
                let chunks = [stream[..<first], stream[first..<second], stream[second...]].map { Array($0) }
                #expect(try frames(chunks) == expected)
            }
        }
        #expect(try frames(stream.map { [$0] }) == expected)
    }

    @Test func `a large message that arrives in pieces is returned whole`() throws {
        let large = [UInt8](repeating: 0x61, count: 300_000)
        var decoder = FrameDecoder()
        for start in stride(from: 0, to: large.count, by: 4096) {
            decoder.append(Array(large[start..<min(start + 4096, large.count)]))
            #expect(try decoder.next() == nil)
        }
        #expect(decoder.isInsideMessage)
        decoder.append([0])
        #expect(try decoder.next() == large)
        #expect(try decoder.next() == nil)
        #expect(!decoder.isInsideMessage)
        decoder.append(large + [0, 0x62, 0])
        #expect(try decoder.next() == large)
        #expect(try decoder.next() == [0x62])
        #expect(decoder.buffered == 0)
    }

    @Test func `a message of exactly the limit is accepted and a longer one refused`() throws {
        var decoder = FrameDecoder(limit: 4)
        decoder.append(Array("1234\0".utf8))
        #expect(try decoder.next() == Array("1234".utf8))
        decoder.append(Array("1234".utf8))
        #expect(try decoder.next() == nil)
        decoder.append(Array("5".utf8))
        #expect(throws: FrameDecoder.TooLarge(limit: 4)) { try decoder.next() }
        var whole = FrameDecoder(limit: 4)
        whole.append(Array("12345\0".utf8))
        #expect(throws: FrameDecoder.TooLarge(limit: 4)) { try whole.next() }
    }

    @Test func `calls are written and read as specified`() throws {
        let cancel = CancelRequest.with {
            $0.selection.refs = ["12", "build@g3"]
            $0.reason = "wrong \"branch\"\n"
        }
        let text =
            #"{"method":"org.opsd.Control.Cancel","parameters":{"selection":{"refs":["12","build@g3"]},"#
            + #""reason":"wrong \"branch\"\n"}}"# + "\0"
        let frame = Call.frame(cancel)
        #expect(String(decoding: frame, as: UTF8.self) == text)
        let call = try Call(frame: Array(frame.dropLast()))
        #expect(try ControlRequest(call) == .cancel(cancel))
        #expect(
            String(decoding: Call.frame(StatusRequest(), more: true), as: UTF8.self)
                == #"{"method":"org.opsd.Control.Status","parameters":{},"more":true}"# + "\0")
    }

    @Test func `replies are written and read as specified`() throws {
        let queue = QueueRow.with {
            $0.name = "disk"
            $0.limit = 2
        }
        let frame = Reply.frame(ListQueuesReply.with { $0.queues = [queue] }, continues: true)
        #expect(
            String(decoding: frame, as: UTF8.self)
                == #"{"parameters":{"queues":[{"name":"disk","limit":2,"suspended":false,"aging":null,"order":"","pending":0,"ready":0,"#
                + #""scheduled":0,"held":0,"executing":0,"executor":null,"fair":null}]},"continues":true}"# + "\0")
        let reply = try ReceivedReply(frame: Array(frame.dropLast()))
        #expect(reply.continues)
        #expect(try reply.result(ListQueuesReply.self).queues == [queue])
    }

    @Test func `errors are written and read as specified`() throws {
        let frame = Reply.frame(ControlError.notFound(kind: "operation", name: "buidl", nearest: "build"))
        #expect(
            String(decoding: frame, as: UTF8.self)
                == #"{"error":"org.opsd.Control.NotFound","parameters":{"kind":"operation","name":"buidl","nearest":"build"}}"#
                + "\0")
        let reply = try ReceivedReply(frame: Array(frame.dropLast()))
        #expect(reply.failure == .control(.notFound(kind: "operation", name: "buidl", nearest: "build")))
        let service = try ReceivedReply(frame: Array(Reply.frame(ServiceError.expectedMore).dropLast()))
        #expect(service.failure == .service(.expectedMore))
        let strange = try ReceivedReply(frame: Array(#"{"error":"a.b.C","parameters":{"x":1}}"#.utf8))
        #expect(strange.failure == .unknown(name: "a.b.C", parameters: #"{"x":1}"#))
    }

    private func request(_ method: String, _ parameters: String) throws -> ControlRequest {
        let text = #"{"method":"org.opsd.Control.\#(method)","parameters":\#(parameters)}"#
        return try ControlRequest(try Call(frame: Array(text.utf8)))
    }

    @Test func `changes with more values or bytes than any edit has are refused`() throws {
        func set(_ changes: String) throws -> ControlRequest {
            try request("Set", #"{"selection":{"refs":["1"]},"changes":\#(changes)}"#)
        }
        func command(_ count: Int) -> String {
            #"{"command":[\#(Array(repeating: "1", count: count).joined(separator: ","))]}"#
        }
        guard case .set(let largest) = try set(command(Limits.arguments)) else {
            return #expect(Bool(false), "it is another request")
        }
        #expect(largest.changes.members.map(\.key) == ["command"])
        #expect(throws: ServiceError.invalidParameter("changes")) { try set(command(Limits.values)) }
        let long = String(repeating: "x", count: Limits.changesBytes)
        #expect(throws: ServiceError.invalidParameter("changes")) { try set(#"{"shell":"\#(long)"}"#) }
    }

    @Test func `arrays and maps with more values than any request has are refused`() throws {
        let references = Array(repeating: "\"\"", count: Limits.values + 1).joined(separator: ",")
        let labels = (0...Limits.values).map { "\"\($0)\":\"\"" }.joined(separator: ",")
        for (name, value) in [("refs", "[\(references)]"), ("labels", "{\(labels)}")] {
            let selection = "{\"\(name)\":\(value)}"
            #expect(throws: ServiceError.invalidParameter("selection.\(name)")) {
                try request("Cancel", "{\"selection\":\(selection)}")
            }
            // Replies may be longer.
            _ = try scan(Array(selection.utf8)) { (scanner) throws(InvalidParameter) in
                scanner.isTolerant = true
                return try Selection(from: &scanner)
            }
        }
    }

    @Test func `unknown members of a message are ignored, and known ones may occur only once`() throws {
        let call = try Call(frame: Array(#"{"later":1,"method":"a.b","later":2,"more":true}"#.utf8))
        #expect(call.method == "a.b" && call.more)
        #expect(throws: JSONError.self) { try Call(frame: Array(#"{"method":"a.b","more":true,"more":true}"#.utf8)) }
    }

    @Test func `an invalid call is refused with an error that names the fault`() throws {
        func answer(_ text: String) throws -> ServiceError? {
            let call = try Call(frame: Array(text.utf8))
            do throws(ServiceError) {
                _ = try ControlRequest(call)
                return nil
            } catch { return error }
        }
        let name = "org.opsd.Control"
        #expect(try answer(#"{"method":"\#(name).Shwo"}"#) == .methodNotFound("\(name).Shwo"))
        #expect(try answer(#"{"method":"org.example.Show"}"#) == .interfaceNotFound("org.example"))
        #expect(try answer(#"{"method":"\#(name).Show"}"#) == .invalidParameter("ref"))
        #expect(try answer(#"{"method":"\#(name).Show","parameters":{"ref":12}}"#) == .invalidParameter("ref"))
        #expect(
            try answer(#"{"method":"\#(name).Show","parameters":{"ref":"1","ref":"2"}}"#) == .invalidParameter("ref"))
        #expect(
            try answer(#"{"method":"\#(name).Show","parameters":{"ref":"1","rev":"2"}}"#) == .invalidParameter("rev"))
        #expect(
            try answer(#"{"method":"\#(name).Cancel","parameters":{"selection":{"refs":[1]}}}"#)
                == .invalidParameter("selection.refs"))
        #expect(
            try answer(#"{"method":"\#(name).Log","parameters":{"ref":"1","lines":-1}}"#) == .invalidParameter("lines"))
        for method in ["List", "ListGraphs", "ScheduleRuns", "ScheduleInstants"] {
            let parameters = method.hasPrefix("Schedule") ? #""name":"x","limit":-1"# : #""limit":-1"#
            let call = #"{"method":"\#(name).\#(method)","parameters":{\#(parameters)}}"#
            #expect(try answer(call) == .invalidParameter("limit"))
        }
        #expect(
            try answer(#"{"method":"\#(name).Watch","more":true,"parameters":{"since":-1}}"#)
                == .invalidParameter("since"))
        #expect(try answer(#"{"method":"\#(name).Watch"}"#) == .expectedMore)
        #expect(try answer(#"{"method":"\#(name).Watch","more":true,"oneway":true}"#) == .expectedMore)
        #expect(try answer(#"{"method":"\#(name).Watch","more":true,"parameters":{"since":null}}"#) == nil)
        for text in [
            "", "[]", "{}", #"{"method":1}"#, #"{"method":"a.b"} x"#, #"{"method":"a.b","parameters":[]}"#,
            #"{"method":"a.b","upgrade":"x"}"#,
        ] {
            #expect(throws: JSONError.self, "\(text)") { try Call(frame: Array(text.utf8)) }
        }
    }
}

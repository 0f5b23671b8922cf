import FoundationEssentials
import Testing

@testable import OpsWire

/// The code reads and writes the sessions of docs/PROTOCOL.md.
@Suite struct ProtocolPageTests {
    private func messages() throws -> [(isCall: Bool, text: String)] {
        var path = #filePath.split(separator: "/").dropLast(3)
        path += ["docs", "PROTOCOL.md"]
        let page = String(
            decoding: try Data(contentsOf: URL(filePath: "/" + path.joined(separator: "/"))), as: UTF8.self)
        return page.split(separator: "\n").compactMap { line in
            guard line.hasSuffix("␀"), let arrow = line.first, "→←".contains(arrow) else { return nil }
            return (arrow == "→", String(line.dropFirst(2).dropLast()))
        }
    }

    @Test func `every call in PROTOCOL.md gets the reply on the page`() throws {
        var request: ControlRequest?
        var refusal: ServiceError?
        let messages = try messages()
        #expect(messages.count > 15)
        for (isCall, text) in messages {
            let frame = Array(text.utf8)
            if isCall {
                (request, refusal) = try read(try Call(frame: frame))
            } else {
                let reply = try ReceivedReply(frame: frame)
                if let refusal {
                    #expect(reply.failure == .service(refusal), "\(text)")
                } else if let failure = reply.failure {
                    try check(failure, of: request, text)
                } else {
                    #expect(try written(reply, to: request) == text)
                }
            }
        }
    }

    private func read(_ call: Call) throws -> (ControlRequest?, ServiceError?) {
        if call.interface == ServiceInterface.name { return (nil, nil) }
        do throws(ServiceError) { return (try ControlRequest(call), nil) } catch { return (nil, error) }
    }

    private func check(_ failure: ReplyError, of request: ControlRequest?, _ text: String) throws {
        guard case .control(let error) = failure else { return #expect(Bool(false), "\(text)") }
        #expect(String(decoding: Reply.frame(error).dropLast(), as: UTF8.self) == text)
        guard case .invalidOperation = error, case .submit(let submit) = request else { return }
        var decoder = GraphDecoder(now: .zero)
        decoder.add(submit.operations.bytes)
        do throws(GraphRefusal) {
            _ = try decoder.finish()
            Issue.record("not refused")
        } catch { #expect(error.error == failure.control) }
    }

    /// Reads the reply as the type of its method, and writes it again.
    private func written(_ reply: ReceivedReply, to request: ControlRequest?) throws -> String {
        func again<Result: WireRecord>(_: Result.Type) throws -> String {
            let frame = Reply.frame(try reply.result(Result.self), continues: reply.continues)
            return String(decoding: frame.dropLast(), as: UTF8.self)
        }
        switch request {
        case .submit: return try again(SubmitReply.self)
        case .beginSubmission: return try again(Nothing.self)
        case .addOperations: return try again(AddOperationsReply.self)
        case .commitSubmission: return try again(SubmitReply.self)
        case .wait: return try again(WaitReply.self)
        case nil: return try again(GetInfoReply.self)
        default: return "a reply that this test does not know"
        }
    }
}

extension ReplyError {
    fileprivate var control: ControlError? {
        guard case .control(let error) = self else { return nil }
        return error
    }
}

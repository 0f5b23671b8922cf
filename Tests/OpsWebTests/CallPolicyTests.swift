import Foundation
import OpsWire
import Testing

@testable import OpsWeb

@Suite struct CallPolicyTests {
    private func isAllowed(_ text: String, readOnly: Bool = false) throws -> Bool {
        let call = try Call(frame: Array(text.utf8))
        do { try CallPolicy(isReadOnly: readOnly).check(call) } catch { return false }
        return true
    }

    @Test func `every method that is allowed exists and no other passes`() throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let interface = try String(
            contentsOf: source.appendingPathComponent("Sources/OpsWire/org.opsd.Control.varlink"), encoding: .utf8)
        for method in CallPolicy.reading.union(CallPolicy.steering) {
            #expect(interface.contains("method \(method)("), "\(method)")
            let parameters = method == "Set" ? #"{"selection":{"refs":["1"]},"changes":{}}"# : "{}"
            #expect(try isAllowed(#"{"method":"\#(method)","parameters":\#(parameters)}"#))
        }
        for method in [
            "Submit", "BeginSubmission", "Backup", "Prune", "SetWorkers", "SetQueue", "RemoveQueue", "SetCategory",
            "Finish", "AddDependency", "AddSchedule", "RemoveSchedule", "Wait", "Watch", "org.opsd.Control.Cancel",
            "org.varlink.service.GetInfo", "x",
        ] {
            #expect(try !isAllowed(#"{"method":"\#(method)"}"#), "\(method)")
        }
    }

    @Test func `a read-only page passes reading calls alone`() throws {
        for method in CallPolicy.reading { #expect(try isAllowed(#"{"method":"\#(method)"}"#, readOnly: true)) }
        for method in CallPolicy.steering { #expect(try !isAllowed(#"{"method":"\#(method)"}"#, readOnly: true)) }
    }

    @Test func `the page sets a priority and nothing that is run`() throws {
        #expect(try isAllowed(#"{"method":"Set","parameters":{"selection":{"refs":["1"]},"changes":{"priority":5}}}"#))
        for key in ["command", "shell", "environment", "directory", "queue", "timeout"] {
            let text =
                #"{"method":"Set","parameters":{"selection":{"refs":["1"]},"changes":{"priority":5,"\#(key)":"x"}}}"#
            #expect(try !isAllowed(text), "\(key)")
        }
    }

    @Test func `a malformed call is refused as such and not as forbidden`() throws {
        func status(_ text: String) throws -> UInt32? {
            let call = try Call(frame: Array(text.utf8))
            do throws(CallPolicy.Refusal) {
                try CallPolicy(isReadOnly: false).check(call)
                return nil
            } catch {
                return error.status
            }
        }
        #expect(try status(#"{"method":"Set"}"#) == 400)
        #expect(try status(#"{"method":"Set","parameters":{"selection":{"refs":["1"]},"changes":5}}"#) == 400)
        let forbidden = #"{"method":"Set","parameters":{"selection":{"refs":["1"]},"changes":{"command":["x"]}}}"#
        #expect(try status(forbidden) == 403)
        #expect(try status(#"{"method":"Submit"}"#) == 403)
    }

    @Test func `a forwarded call has the interface and the parameters as they came`() throws {
        let call = try Call(frame: Array(#"{"method":"Show","parameters":{"ref":"a\u0000\"b"}}"#.utf8))
        let message = String(decoding: call.forwarded(more: false), as: UTF8.self)
        #expect(message == #"{"method":"org.opsd.Control.Show","parameters":{"ref":"a\u0000\"b"}}"# + "\0")
    }

    @Test func `a body with a second message in it is no call`() {
        #expect(throws: (any Error).self) {
            try Call(frame: Array("{\"method\":\"Status\"}\0{\"method\":\"org.opsd.Control.Submit\"}".utf8))
        }
    }
}

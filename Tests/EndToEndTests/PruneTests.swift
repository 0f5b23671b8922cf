import Foundation
import Testing

@Suite struct PruneTests {
    @Test func whatFinishedIsForgottenAndItsIdIsNeverUsedAgain() throws {
        let machine = try Machine()
        let held = try machine.submit("--hold", "--", "true")
        let over = try machine.submit("--", "echo", "gone")
        try machine.ok("wait", "\(over)")
        #expect(try machine.ok("prune", "--older-than", "1h", "--json").object["removed"] as? Int == 0)
        #expect(try machine.ok("prune", "--older-than", "0s").out == "removed 1 operation\n")
        #expect(try machine.ctl("show", "\(over)").status == 4)
        #expect(try machine.ctl("log", "\(over)").status == 4)
        #expect(try machine.stateOf(held) == "ready")
        try machine.killDaemon()
        try machine.start()
        #expect(try machine.submit("--", "true") == over + 1)
        #expect(try machine.ctl("prune").status == 2)
    }
}

import Foundation
import Testing

@Suite struct TimeTests {
    @Test func timeoutAndDeadlineEndAsTimedOut() throws {
        let machine = try Machine()
        let slow = try machine.submit("--timeout", "200ms", "--grace", "100ms", "--", "sleep", "600")
        let late = try machine.submit("--deadline", "200ms", "--hold", "--", "true")
        #expect(try machine.ctl("wait", "\(slow)", "\(late)", "--timeout", "20s").status == 1)
        #expect(try machine.show(slow)["cause"] as? String == "ran longer than 200ms")
        #expect(try machine.outcome(late) == "timedOut")
        #expect(try machine.show(late)["startedAt"] is NSNull)
    }

    @Test func aDelayIsWaitedForAndExplained() throws {
        let machine = try Machine()
        let id = try machine.submit("--delay", "1h", "--", "true")
        let why = try #require(try machine.ok("why", "\(id)", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(why.compactMap { $0["kind"] as? String } == ["notBefore"])
        let soon = try machine.submit("--delay", "50ms", "--", "true")
        #expect(try machine.ctl("wait", "\(soon)", "--timeout", "20s").status == 0)
    }
}

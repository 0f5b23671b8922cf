import Foundation
import Testing

@Suite struct TimeTests {
    @Test func `a timeout and a deadline end operations as timed out`() throws {
        let machine = try Machine()
        let slow = try machine.submit("--timeout", "200ms", "--grace", "100ms", "--", "sleep", "600")
        let late = try machine.submit("--deadline", "200ms", "--hold", "--", "true")
        #expect(try machine.ctl("wait", "\(slow)", "\(late)", "--timeout", "20s").status == 1)
        #expect(try machine.show(slow)["cause"] as? String == "ran longer than 200ms")
        #expect(try machine.outcome(late) == "timedOut")
        #expect(try machine.show(late)["startedAt"] is NSNull)
    }

    @Test func `a delay is waited for and explained`() throws {
        let machine = try Machine()
        let id = try machine.submit("--delay", "1h", "--", "true")
        let why = try #require(try machine.ok("why", "\(id)", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(why.compactMap { $0["kind"] as? String } == ["notBefore"])
        let soon = try machine.submit("--delay", "50ms", "--", "true")
        #expect(try machine.ctl("wait", "\(soon)", "--timeout", "20s").status == 0)
    }

    @Test func `times are taken as at takes them`() throws {
        let machine = try Machine()
        for time in ["noon", "tomorrow noon", "Mon 06:00", "friday", "+5m", "now + 5 minutes", "now + 2 days", "1h"] {
            let id = try machine.submit("--at", time, "--", "true")
            #expect(try machine.stateOf(id) == "ready", "\(time)")
            #expect(try machine.show(id)["notBefore"] is String, "\(time)")
        }
        #expect(try machine.ctl("submit", "--at", "now + 5 apples", "--", "true").status == 2)
        let waiting = try machine.submit("--at", "tomorrow 06:00", "--", "true")
        let why = try machine.ok("why", "\(waiting)").out
        #expect(why.contains("06:00:00 (in ") && !why.contains("Z"), "\(why)")
    }
}

import Foundation
import Glibc

/// Faults of the wall clock of opsd and its runner, while they run and while opsd is down.
extension Faults {
    /// Sets the clock forward by a second, half a minute, an hour or 26 hours, and leaves it there.
    mutating func setClockForward() -> Fault {
        let fault = begin("clock forward")
        if let shim = victims.shim { setClock(shim.offset + leap()) }
        return fault
    }

    /// Sets the clock back. Operations that wait for an instant then wait longer. After a while another jump corrects
    /// the clock, so that everything finishes.
    mutating func setClockBack() throws -> Fault {
        let diesMeanwhile = dice.happens(40)
        var fault = begin(diesMeanwhile ? "clock back, kill -9 opsd" : "clock back")
        guard let shim = victims.shim else { return begin("nothing") }
        let proper = shim.offset
        fault.clock = Date().timeIntervalSince1970 + proper
        setClock(proper - leap())
        rest(dice.roll(100...2500))
        if diesMeanwhile {
            try victims.stop(SIGKILL)
            try victims.start()
            rest(dice.roll(0...500))
        }
        setClock(proper + Double(dice.roll(0...2)))
        return fault
    }

    private mutating func leap() -> Double { dice.pick([1, 30, 3600, 26 * 3600]) ?? 1 }

    private func setClock(_ seconds: Double) {
        victims.shim?.setClock(ahead: seconds, tell: [victims.daemonPid, victims.runnerPid].compactMap(\.self))
    }
}

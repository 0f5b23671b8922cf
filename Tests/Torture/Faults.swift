import Foundation
import Glibc

/// Breaks things at random moments, and repairs what an administrator would.
struct Faults {
    /// One fault and the wall clock around it, in seconds since 1970.
    struct Fault: Sendable { var kind: String, begin: Double, end: Double }

    var dice: Dice
    let victims: Victims
    let fillsDisk: Bool
    private(set) var done: [Fault] = []

    init(dice: Dice, victims: Victims, fillsDisk: Bool) {
        self.dice = dice
        self.victims = victims
        self.fillsDisk = fillsDisk
    }

    /// Until then, one fault every few seconds. Throws when a victim does not come back.
    mutating func run(until end: Date) throws {
        while Date() < end {
            rest(dice.roll(300...4000))
            let begin = Date().timeIntervalSince1970
            let kind: String
            switch dice.roll(0...99) {
            case 0..<15 where fillsDisk: kind = try fillDisk()
            case 0..<45: kind = try killDaemon()
            case 45..<55: kind = try restartDaemon()
            case 55..<70: kind = try pause(victims.daemonPid, "opsd")
            case 70..<82: kind = try pause(victims.runnerPid, "runner")
            case 82..<93: kind = try killRunner()
            default: kind = try killBoth()
            }
            done.append(Fault(kind: kind, begin: begin, end: Date().timeIntervalSince1970))
        }
    }

    private func rest(_ milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }

    private mutating func killDaemon() throws -> String {
        try victims.stop(SIGKILL)
        if dice.happens(60) { rest(dice.roll(0...400)) }
        try victims.start()
        // In the midst of its recovery, again.
        if dice.happens(25) {
            try victims.stop(SIGKILL)
            try victims.start()
        }
        return "kill -9 opsd"
    }

    private mutating func restartDaemon() throws -> String {
        try victims.stop(SIGTERM)
        try victims.start()
        return "restart opsd"
    }

    private mutating func pause(_ pid: pid_t?, _ name: String) throws -> String {
        guard let pid else { return "nothing" }
        kill(pid, SIGSTOP)
        rest(dice.roll(20...1500))
        kill(pid, SIGCONT)
        return "stop and continue \(name)"
    }

    /// No block is left for a while; sometimes opsd dies and comes back meanwhile.
    private mutating func fillDisk() throws -> String {
        let path = victims.state + "/filler"
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return "nothing" }
        let block = [UInt8](repeating: 1, count: 4096)
        while block.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) > 0 {}
        close(file)
        rest(dice.roll(100...2500))
        unlink(path)
        return "disk full"
    }

    private mutating func killRunner() throws -> String {
        guard let pid = victims.runnerPid else { return "nothing" }
        kill(pid, SIGKILL)
        return "kill -9 runner"
    }

    private mutating func killBoth() throws -> String {
        guard let pid = victims.runnerPid else { return "nothing" }
        kill(pid, SIGKILL)
        try victims.stop(SIGKILL)
        try victims.start()
        return "kill -9 runner and opsd"
    }
}

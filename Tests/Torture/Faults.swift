import Foundation
import Glibc

/// Injects faults at random moments, and repairs them as an administrator would.
struct Faults {
    /// One fault, and the numbers of the events between which it happened.
    struct Fault: Sendable {
        /// Harm that a fault may do to operations, apart from delaying them.
        struct Harm: OptionSet, Sendable {
            let rawValue: Int
            /// Processes may have lost their runner.
            static let interruption = Harm(rawValue: 1)
            /// Logs may be impossible to create.
            static let noRoom = Harm(rawValue: 2)
            /// Output may be lost, because nothing flushes it.
            static let lostOutput = Harm(rawValue: 4)
        }
        var kind: String
        var harm: Harm = []
        var after: Int
        var before = Int.max
        /// Reading of the programs' clock before it was set back. An instant up to it may have passed without an event.
        var clock: Double?
        /// Beginning and end of the fault, by the machine's clock.
        var began = Instant.now
        var ended = Instant.now

        /// True for a planted fault. It explains no violation, because the checker must find it.
        var isSabotage: Bool { kind.hasPrefix("sabotage") }

        /// Returns true if the fault may have affected something that began and ended with these events.
        func overlaps(_ span: ClosedRange<Int>) -> Bool { span.lowerBound <= before && span.upperBound >= after }
    }

    var dice: Dice
    let victims: Victims
    let watcher: Watcher
    let ledger: Ledger
    private(set) var done: [Fault] = []
    /// Runner at the last check, and the runner that was killed last.
    private var runner: pid_t?
    private var killedRunner: pid_t?
    /// Faults to draw from. Each is in the list as often as its weight says.
    private let choices: [(inout Faults) throws -> Fault]
    /// File that lists the faults with their times, which helps to find the cause of a violation.
    private let list: FileHandle?

    typealias Choice = (name: String, weight: Int, fault: (inout Faults) throws -> Fault)

    private static var processes: [Choice] {
        [
            ("kill", 40, { try $0.killDaemon() }), ("restart", 10, { try $0.restartDaemon() }),
            ("stop", 14, { $0.pause($0.victims.daemonPid, "opsd") }),
            ("stop-runner", 12, { $0.pause($0.victims.runnerPid, "runner") }),
            ("kill-runner", 11, { $0.killRunner() }), ("kill-both", 7, { try $0.killBoth() }),
        ]
    }
    private static var preloaded: [Choice] {
        [
            ("forward", 8, { $0.setClockForward() }), ("back", 8, { try $0.setClockBack() }),
            ("io", 14, { try $0.failDisk() }),
        ]
    }

    /// `only`: names of faults, or empty for all that are possible in this run.
    init(
        dice: Dice, victims: Victims, watcher: Watcher, ledger: Ledger, companions: Companions, only: [String],
        sabotage: Sabotage?
    ) {
        self.dice = dice
        self.victims = victims
        self.watcher = watcher
        self.ledger = ledger
        var possible = Self.processes
        if victims.disk.canBeFull { possible.append(("full", 12, { try $0.fillDisk() })) }
        if let image = victims.disk.image {
            possible.append(("starve", 10, { try $0.starveDisk() }))
            if image.losesPower { possible.append(("power", 10, { try $0.cutPower() })) }
        }
        if victims.shim != nil { possible += Self.preloaded }
        possible += Self.choices(companions)
        switch sabotage {
        case .forgetting: possible.append(("forget", 60, { try $0.forget() }))
        case .twins: possible.append(("twins", 200, { try $0.startTwice() }))
        case .standstill: possible.append(("standstill", 60, { $0.standStill() }))
        case .limits, .units, .rates, .edges, .forging, .instants, .bytes, .page, .rights, .functions, nil: break
        }
        choices = possible.filter { only.isEmpty || only.contains($0.name) }
            .flatMap { Array(repeating: $0.fault, count: $0.weight) }
        let path = victims.work + "/faults"
        let isThere = FileManager.default.createFile(atPath: path, contents: nil)
        list = isThere ? FileHandle(forWritingAtPath: path) : nil
    }

    /// Injects a fault every second or two until `end`. Throws if a program does not recover.
    mutating func run(until end: Date) throws {
        let begun = Date()
        rest(dice.roll(200...longestRest))
        while Date() < end, let choice = dice.pick(choices) {
            try findDeaths()
            let began = Instant.now
            var fault = try choice(&self)
            fault.began = began
            fault.ended = Instant.now
            if fault.harm.contains(.interruption) { runner = nil }
            list?.write(Data("\(Date().ISO8601Format()) after event \(fault.after): \(fault.kind)\n".utf8))
            rest(dice.roll(200...longestRest))
            fault.before = try lastSequence()
            done.append(fault)
            try stayCalm(since: begun, until: end)
        }
    }

    /// Number of the newest event. opsd refuses the call until it notices that the disk has been repaired.
    private func lastSequence() throws -> Int {
        let end = Date().addingTimeInterval(30)
        while true {
            do throws(CallError) {
                let status = try Wire.call(victims.socket, "Status")
                guard let last = status["lastSeq"] as? Int else { throw .lost }
                return last
            } catch {
                let mayRecover = victims.mayLackStorage && error.isRefusal("StorageUnavailable")
                guard mayRecover, Date() < end else {
                    throw Trouble("no status: \(error); exit status of opsd: \(victims.daemonDeath ?? -1)")
                }
                usleep(50_000)
            }
        }
    }

    /// With attackers there are periods without other faults, so that all effects in them are caused by the attackers.
    private mutating func stayCalm(since begun: Date, until end: Date) throws {
        guard victims.people != nil else { return }
        while Date() < end, Date().timeIntervalSince(begun).truncatingRemainder(dividingBy: 40) > 28 { rest(100) }
        try findDeaths()
    }

    /// Longest pause between faults in milliseconds. With quiet periods it is shorter, for the same number of faults.
    private var longestRest: Int { victims.people == nil ? 2500 : 1500 }

    /// Checks that both programs are ended only by the torture.
    private mutating func findDeaths() throws {
        if let status = victims.daemonDeath {
            ledger.find("opsd ended by itself, with \(status): \(victims.logTail)")
            try victims.start()
        }
        guard let pid = victims.runnerPid, pid != killedRunner else { return }
        if let runner, runner != pid { ledger.find("runner \(runner) ended by itself: \(victims.runnerLogTail)") }
        runner = pid
    }

    func rest(_ milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }

    /// Returns a fault that begins now.
    func begin(_ kind: String, _ harm: Fault.Harm = []) -> Fault {
        Fault(kind: kind, harm: harm, after: watcher.count)
    }

    // MARK: Processes

    private mutating func killDaemon() throws -> Fault {
        let fault = begin("kill -9 opsd")
        try victims.stop(SIGKILL)
        if dice.happens(60) { rest(dice.roll(0...400)) }
        try victims.start()
        // Sometimes opsd is killed once more, during its recovery.
        if dice.happens(25) {
            try victims.stop(SIGKILL)
            try victims.start()
        }
        return fault
    }

    private mutating func restartDaemon() throws -> Fault {
        let fault = begin("restart opsd")
        try victims.stop(SIGTERM)
        try victims.start()
        return fault
    }

    mutating func pause(_ pid: pid_t?, _ name: String) -> Fault {
        let fault = begin("stop and continue \(name)")
        guard let pid else { return begin("nothing") }
        kill(pid, SIGSTOP)
        rest(dice.roll(20...1500))
        kill(pid, SIGCONT)
        return fault
    }

    private mutating func killRunner() -> Fault {
        let fault = begin("kill -9 runner", [.interruption])
        guard let pid = victims.runnerPid else { return begin("nothing") }
        kill(pid, SIGKILL)
        killedRunner = pid
        return fault
    }

    private mutating func killBoth() throws -> Fault {
        let fault = begin("kill -9 runner and opsd", [.interruption])
        guard let pid = victims.runnerPid else { return begin("nothing") }
        kill(pid, SIGKILL)
        killedRunner = pid
        try victims.stop(SIGKILL)
        try victims.start()
        return fault
    }
}

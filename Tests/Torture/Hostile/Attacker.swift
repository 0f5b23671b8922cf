import Foundation
import Glibc
import Synchronization

/// torture --attack SOCKET DIRECTORY PROGRAM HONEST SEED ATTACK,ATTACK...
///
/// The hostile client: a process of its own, without any right of root. It attacks until it is killed.
struct Attacker {
    var dice: Dice
    let socket: String
    /// Directory of the attacker, in which no other user can write.
    let directory: String
    /// Program that the operations of the attacker execute.
    let program: String
    /// User whose operations are attacked.
    let honest: Person
    let attacks: [Attack]
    var count = 0

    /// Queue with a limit, so that the attackers do not use all slots for long.
    static let queue = "hostile"
    private static let threads = 5

    static func main(_ words: [String]) throws -> Never {
        guard words.count == 6, let honest = Person(named: words[3]), let hostile = Person(named: "nobody"),
            let seed = UInt64(words[4])
        else { throw Trouble("the attacker was started with wrong arguments: \(words)") }
        guard setgroups(0, nil) == 0, setgid(hostile.gid) == 0, setuid(hostile.uid) == 0, setuid(0) != 0
        else { throw Trouble("the attacker is still root") }
        // SIGIO reports that a lease is broken, SIGPIPE that a connection was closed.
        for number in [SIGIO, SIGPIPE] { signal(number, SIG_IGN) }
        signal(SIGCHLD, SIG_IGN)
        let attacks = words[5].split(separator: ",").compactMap { Attack(rawValue: String($0)) }
        for thread in 0..<threads {
            Thread.detachNewThread {
                var attacker = Attacker(
                    dice: Dice(seed: seed &* 10 &+ UInt64(thread)), socket: words[0], directory: words[1],
                    program: words[2], honest: honest, attacks: attacks, count: (Int(getpid()) * threads + thread) << 20
                )
                while true { attacker.attack() }
            }
        }
        while true {
            sleep(UInt32.random(in: 3...10))
            // This is an attack, too: all operations of the attacker are cancelled at once, at a random moment.
            _ = try? Wire.call(  // opsd may be down: tried again later
                words[0], "Cancel", ["selection": ["user": hostile.name], "reason": mine], seconds: 20)
        }
    }

    /// Text that marks everything that attackers write; hostile.h has the same.
    static let mine = "BYTES-OF-AN-ATTACKER"

    private mutating func attack() {
        guard let attack = dice.pick(attacks) else { return }
        if attack.executes { awaitTurn() }
        let before = Instant.now
        do throws(CallError) {
            try perform(attack)
            tally("attack: \(attack.rawValue)")
        } catch {
            // Attackers expect refusals.
            tally("attack cut off: \(attack.rawValue)")
        }
        if Instant.now - before > 30 { tally("attack of more than 30 s: \(attack.rawValue)") }
        usleep(UInt32(dice.roll(0...300_000)))
    }

    private mutating func perform(_ attack: Attack) throws(CallError) {
        switch attack {
        case .lease: try takeLease()
        case .stop: try stopOwn()
        case .fifo: try useFIFOs()
        case .path: try searchLongPath()
        case .truncate: try execute(["truncate"], ["output": dice.pick(["split", "log"]) ?? "split"], times: 1...3)
        case .flood: try execute(["flood", "\(dice.roll(300...2000))"], times: 1...2)
        case .forks: try execute(["forks", "\(dice.roll(30...150))"], times: 1...3)
        case .leave: try execute(["leave", "\(dice.roll(200...4000))"], ["leftovers": "leave"], times: 1...2)
        case .connections: try connectOften()
        case .halves: try sendHalves()
        case .parts: try leaveParts()
        case .unread: try leaveReplies()
        case .forge: try forge()
        case .signals: try sendSignals()
        case .meddle: try meddle()
        case .labels: try askByLabels()
        case .large: try launchLarge()
        case .results: try collectResults()
        case .barrier: try raiseBarrier()
        case .fan: try decideMany()
        case .conditions: try neverAnswer()
        }
    }

    /// Waits up to three seconds while operations of the attackers wait in their queue, where more would do no harm.
    private func awaitTurn() {
        for _ in 0..<30 {
            // Without opsd there is no queue, and the attack begins at once.
            guard let reply = try? call("ListQueues") else { return }
            let queues = reply["queues"] as? [[String: Any]] ?? []
            guard let own = queues.first(where: { $0["name"] as? String == Self.queue }),
                own["ready"] as? Int ?? 0 > 6
            else { return }
            usleep(100_000)
        }
    }

    // MARK: Tools

    func tally(_ what: String, _ count: Int = 1) { append("\(count) \(what)\n", to: "tally") }

    /// Records something that an attacker must not be able to do.
    func find(_ what: String) { append(what + "\n", to: "findings") }

    private func append(_ line: String, to file: String) {
        let descriptor = open(directory + "/" + file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let bytes = Array(line.utf8)
        // A line is written whole, or the disk is full.
        _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }

    /// Returns an unused path in the attacker's directory.
    mutating func fresh(_ kind: String) -> String {
        count += 1
        return "\(directory)/\(kind)-\(count)"
    }

    func command(_ words: [String]) -> [String] { [program, directory] + words }

    func call(_ method: String, _ parameters: [String: Any] = [:]) throws(CallError) -> [String: Any] {
        try Wire.call(socket, method, parameters, seconds: 20)
    }

    /// Submits operations, by default to the attackers' own queue.
    @discardableResult
    func submit(_ operations: [[String: Any]], environment: [String: String] = [:], name: String? = nil)
        throws(CallError) -> String
    {
        var parameters: [String: Any] = [
            "operations": operations,
            // 4 is the highest priority of an ordinary user.
            "defaults": ["queue": Self.queue, "grace": "200ms", "priority": 4] as [String: Any],
            "capture": [
                "environment": ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }, "directory": "/", "umask": 0o22,
            ] as [String: Any],
        ]
        parameters["name"] = name
        return try call("Submit", parameters)["graph"] as? String ?? ""
    }

    /// Submits operations that execute a verb of the hostile program.
    mutating func execute(_ words: [String], _ keys: [String: Any] = [:], times: ClosedRange<Int>) throws(CallError) {
        var operation = keys
        operation["command"] = command(words)
        try submit(Array(repeating: operation, count: dice.roll(times)))
    }

    /// Starts the hostile program outside of all operations.
    func start(_ words: [String], environment: [String: String] = [:]) {
        // If the program cannot be started, there is one attack less.
        _ = try? Program(
            command(words), environment: environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }, output: "/dev/null")
    }

    /// Does some work after a delay, while the attack continues.
    func later(_ seconds: Double, _ work: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: seconds)
            work()
        }
    }
}

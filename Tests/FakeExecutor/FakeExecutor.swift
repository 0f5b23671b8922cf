import OpsExecutor
import OpsSystem

/// An executor without an engine: the words of a command determine the fate of its job, and no process is started.
///
/// `exit N` ends with this status; `refuse TEXT` can never run; `lose TEXT` is interrupted once it has started; `wait`
/// runs until it is ended; `queue` never starts. Jobs are stored in a file, because the program may be killed at any
/// time.
@main
struct FakeExecutor {
    static func main() throws {
        let words = CommandLine.arguments
        guard let state = value(of: "--state", in: words), let name = value(of: "--name", in: words) else {
            Program.exit(status: 64)
        }
        try Signals.ignore(Signals.pipe)
        var engine = Engine(path: "\(state)/executor-\(name).jobs")
        try engine.load()
        let listener = try UnixSocket.listen(at: "\(state)/\(LaunchProtocol.socketName(executor: name))")
        // When its state directory is gone, opsd will not connect any more.
        while Files.isDirectory(state) {
            guard try listener.waitUntil(.readable, milliseconds: 1000),
                let connection = try UnixSocket.accept(from: listener)
            else { continue }
            if try !engine.serve(connection) { return }
        }
    }

    private static func value(of option: String, in words: [String]) -> String? {
        guard let position = words.firstIndex(of: option), position + 1 < words.count else { return nil }
        return words[position + 1]
    }
}

/// The jobs of a `FakeExecutor`.
struct Engine {
    enum Phase: String {
        case held, running, ended
    }

    struct Job {
        var attempt: AttemptID
        var number: Int
        var phase: Phase
        var words: [String]
    }

    let path: String
    private var jobs: [Job] = []
    private var nextNumber = 4711
    private var isStopped = false

    init(path: String) { self.path = path }

    // MARK: The file

    /// One line for each job: operation, attempt, job, phase, words.
    mutating func load() throws {
        for line in String(decoding: try Files.readIfPresent(path, limit: 1 << 20) ?? [], as: UTF8.self).split(
            separator: "\n")
        {
            let words = line.split(separator: " ").map(String.init)
            guard words.count >= 4, let operation = Int64(words[0]), let attempt = Int32(words[1]),
                let number = Int(words[2]), let phase = Phase(rawValue: words[3])
            else { continue }
            jobs.append(
                Job(
                    attempt: AttemptID(OperationID(operation), attempt), number: number, phase: phase,
                    words: Array(words.dropFirst(4))))
            nextNumber = max(nextNumber, number + 1)
        }
    }

    private func store() throws {
        let lines = jobs.map { job in
            "\(job.attempt.operation.rawValue) \(job.attempt.number) \(job.number) \(job.phase.rawValue) "
                + job.words.joined(separator: " ") + "\n"
        }
        try Files.replace(path, with: Array(lines.joined().utf8), mode: 0o600)
    }

    // MARK: The connection

    /// Carries out commands of opsd until it disconnects; returns false if the program is to end.
    mutating func serve(_ connection: consuming Descriptor) throws -> Bool {
        var reader = FrameReader<ExecutorCommand>()
        var version: UInt16 = 0
        while try connection.waitUntil(.readable) {
            var bytes: [UInt8] = []
            guard case .moved = try connection.read(atMost: 65536, onto: &bytes) else { return !isStopped }
            reader.append(bytes)
            while let command = try reader.next() {
                if case .hello(let spoken) = command { version = spoken }
                var answer: [UInt8] = []
                for report in try obey(command) { report.append(to: &answer, for: version) }
                if try !connection.writeAll(answer) { return !isStopped }
            }
            if isStopped { return false }
        }
        return true
    }

    private mutating func obey(_ command: ExecutorCommand) throws -> [ExecutorReport] {
        switch command {
        case .hello:
            return [
                .hello(
                    ExecutorGreeting(
                        version: LaunchProtocol.version, instance: "fake", boot: "", pid: Identity.pid,
                        entries: jobs.map { .init($0.attempt, state(of: $0)) }))
            ]
        case .launch(let request): return try launch(request)
        case .release(let attempt): return try release(attempt)
        case .terminate(let attempt, _, _):
            guard let position = position(of: attempt) else { return [.gone(attempt)] }
            if jobs[position].phase == .ended { return [end(of: jobs[position])] }
            jobs[position].phase = .ended
            jobs[position].words = ["signal"]
            try store()
            return [end(of: jobs[position])]
        case .acknowledge(let attempt):
            jobs.removeAll { $0.attempt == attempt }
            try store()
            return []
        case .ping: return [.pong]
        case .stop:
            isStopped = true
            return []
        default: return []
        }
    }

    private func position(of attempt: AttemptID) -> Int? { jobs.firstIndex { $0.attempt == attempt } }

    private mutating func launch(_ request: LaunchRequest) throws -> [ExecutorReport] {
        if let position = position(of: request.attempt) { return [report(of: jobs[position])] }
        let job = Job(attempt: request.attempt, number: nextNumber, phase: .held, words: request.arguments)
        nextNumber += 1
        jobs.append(job)
        if request.arguments.first == "refuse" { jobs[jobs.count - 1].phase = .ended }
        try store()
        return [report(of: jobs[jobs.count - 1])]
    }

    private mutating func release(_ attempt: AttemptID) throws -> [ExecutorReport] {
        guard let position = position(of: attempt), jobs[position].phase == .held else { return [] }
        if jobs[position].words.first == "queue" {
            return [.updated(attempt, OperationUpdate(status: "PENDING (Priority)"))]
        }
        jobs[position].phase = .running
        let launched = report(of: jobs[position])
        guard jobs[position].words.first != "wait" else {
            try store()
            return [launched]
        }
        jobs[position].phase = .ended
        try store()
        return [launched, end(of: jobs[position])]
    }

    // MARK: Reports

    private func state(of job: Job) -> AttemptState {
        switch report(of: job) {
        case .accepted(_, let job): .accepted(job: job)
        case .refused(_, let cause): .refused(cause: cause)
        case .launched(_, let process): .running(process)
        case .ended(_, let end): .ended(end)
        case .exited(_, let exit, _): .gone(exit)
        default: .accepted(job: String(job.number))
        }
    }

    private func report(of job: Job) -> ExecutorReport {
        switch job.phase {
        case .held: .accepted(job.attempt, job: String(job.number))
        case .running: .launched(job.attempt, LaunchedProcess(pid: 0, startTicks: 0, at: Clock.read()))
        case .ended: end(of: job)
        }
    }

    private func end(of job: Job) -> ExecutorReport {
        let text = job.words.dropFirst().joined(separator: " ")
        switch job.words.first {
        case "refuse": return .refused(job.attempt, cause: text)
        case "lose": return .ended(job.attempt, ExternalEnd(outcome: .interrupted, cause: text, at: Clock.read()))
        case "signal":
            return .exited(job.attempt, ProcessExit(status: .signal(15), at: Clock.read()), treeIsGone: true)
        default:
            let exit = ProcessExit(status: .code(Int32(text) ?? 0), at: Clock.read())
            return .exited(job.attempt, exit, treeIsGone: true)
        }
    }
}

internal import Glibc
internal import OpsSystem

/// One run of a command of Slurm, with a deadline. The user whose jobs it is about can stop or change the process.
struct EngineCommand: Sendable {
    struct End: Sendable {
        /// Exit status; nil: a signal ended it, such as that of the deadline.
        var status: Int32?
        var output = ""
        var errors = ""
    }

    /// Deadline of a command. Slurm's commands wait up to 20 s for a controller that does not answer.
    private static let longestRun = TimeSpan.seconds(60)
    private static let outputLimit = 64 << 20
    /// Bytes that are kept of its messages, the last ones. The user can add any text to these.
    private static let longestErrors = 4096

    var arguments: [String]
    var user: Spawn.User?
    /// Variables besides those of all commands.
    var variables: [String] = []

    /// Environment of the commands. Jobs inherit it, so it has nothing else of this process.
    private var environment: CStringArray {
        let names = ["PATH", "SLURM_CONF", "LANG", "LC_ALL"]
        return CStringArray(names.compactMap { name in Environment[name].map { "\(name)=\($0)" } } + variables)
    }

    /// Runs the command to its end, or kills it at the deadline.
    func run() -> End {
        do {
            return try perform()
        } catch {
            return End(status: nil, errors: "\(arguments.first ?? ""): \(error)")
        }
    }

    private func perform() throws -> End {
        let deadline = Clock.read().monotonic + Self.longestRun
        let output = try Self.pipe()
        defer { close(output.reader) }
        let errors: (reader: Int32, writer: Int32)
        do throws(SystemError) {
            errors = try Self.pipe()
        } catch {
            close(output.writer)
            throw error
        }
        defer { close(errors.reader) }
        let process = try start(output: output.writer, errors: errors.writer)
        var texts: [[UInt8]] = [[], []]
        let isRead = Self.read([output.reader, errors.reader], into: &texts, until: deadline)
        // A process can close its output and go on. After an error it is killed, too.
        let isOver = isRead && (try? Children.hasEnded(process.pid, by: deadline)) == true
        // It leads a session of its own, unless its user has stopped it before.
        kill(-process.pid, SIGKILL)
        kill(process.pid, SIGKILL)
        let status = try Children.wait(for: process.pid)?.status
        if case .failure(let error)? = process.outcome() { throw error }
        var end = End()
        if case .code(let code)? = status, isOver { end.status = code }
        end.output = String(decoding: texts[0], as: UTF8.self)
        end.errors = String(decoding: texts[1].suffix(Self.longestErrors), as: UTF8.self)
        return end
    }

    /// Starts the process, and closes the ends of the pipes that are for it.
    private func start(output: Int32, errors: Int32) throws(SpawnError) -> StartingProcess {
        defer {
            close(output)
            close(errors)
        }
        var spawn = Spawn(arguments: arguments, environment: environment)
        spawn.directory = "/"
        spawn.umask = 0o077
        spawn.user = user
        spawn.standardOutput = .descriptor(output)
        spawn.standardError = .descriptor(errors)
        return try spawn.startApart()
    }

    private static func pipe() throws(SystemError) -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
            throw SystemError("pipe", errno: errno)
        }
        return (ends[0], ends[1])
    }

    /// Reads all pipes to their ends. Returns false at the deadline.
    private static func read(
        _ pipes: [Int32], into texts: inout [[UInt8]], until deadline: MonotonicInstant
    ) -> Bool {
        var polled = pipes.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var buffer = [UInt8](repeating: 0, count: 65536)
        while polled.contains(where: { $0.fd >= 0 }) {
            let left = (deadline - Clock.read().monotonic).milliseconds
            guard left > 0, texts.allSatisfy({ $0.count < outputLimit }) else { return false }
            guard poll(&polled, nfds_t(polled.count), Int32(left)) >= 0 || errno == EINTR else { return false }
            for index in polled.indices where polled[index].fd >= 0 && polled[index].revents != 0 {
                let count = Glibc.read(polled[index].fd, &buffer, buffer.count)
                if count > 0 { texts[index] += buffer[..<count] }
                if count == 0 || count < 0 && errno != EINTR { polled[index].fd = -1 }
            }
        }
        return true
    }
}

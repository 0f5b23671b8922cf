internal import OpsSystem

/// Starts the program of an executor unless a service manager does. The program outlives opsd.
final class ProgramStarter {
    private let name: String
    private let arguments: [String]
    private let configured: String
    /// Process of a start that has not ended yet.
    private var starting: Int32?

    /// `configured`: the path of the program; empty: beside opsd, then in PATH.
    init(_ name: String, at configured: String, arguments: [String]) {
        self.name = name
        self.arguments = arguments
        self.configured = configured
    }

    /// True under systemd: the program is a unit of its own, and opsd waits for it.
    var isStartedByOthers: Bool { Environment["INVOCATION_ID"] != nil && Environment["NOTIFY_SOCKET"] != nil }

    func startIfNeeded() throws(SystemError) {
        guard !isStartedByOthers else { return }
        // After its end the program has detached, or it has failed and printed the reason. Another start follows in
        // both cases.
        if let starting, Children.isRunning(starting) { return }
        starting = nil
        starting = try spawn(try find(), arguments)
    }

    private func find() throws(SystemError) -> String {
        if !configured.isEmpty { return configured }
        let own = try Program.path()
        if let slash = own.lastIndex(of: "/") {
            let beside = "\(own[..<slash])/\(name)"
            if Files.isExecutable(beside) { return beside }
        }
        for directory in (Environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":") {
            let candidate = "\(directory)/\(name)"
            if Files.isExecutable(candidate) { return candidate }
        }
        throw SystemError("find \(name) beside opsd or in PATH", errno: SystemError.noSuchFile)
    }

    /// Environment of opsd without the variables of its service manager: the program is not a service.
    private static var environment: [String] {
        let ours = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]
        return Environment.all.filter { entry in !ours.contains { entry.hasPrefix($0 + "=") } }
    }

    /// Starts the program as from a new shell: it inherits no descriptor, signal disposition or session.
    private func spawn(_ path: String, _ arguments: [String]) throws(SystemError) -> Int32 {
        var spawn = Spawn(arguments: [path] + arguments, environment: CStringArray(Self.environment))
        // Until the program is in the background it reports errors on the standard error of opsd.
        let standardError = try Descriptor.duplicate(of: 2)
        spawn.standardError = .descriptor(standardError.rawValue)
        do throws(SpawnError) {
            let pid = try spawn.start()
            _ = consume standardError
            return pid
        } catch {
            throw SystemError("start \(path)", errno: error.errno)
        }
    }
}

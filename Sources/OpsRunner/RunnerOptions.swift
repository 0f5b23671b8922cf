internal import OpsExecutor
public import OpsSystem

/// Command line of a runner.
public struct RunnerOptions: Sendable {
    /// State directory, used by one runner at a time.
    public var state: String
    /// True if it was started by opsd, not by a service manager: it goes to the background, and ends when it has been
    /// idle.
    public var isDetached: Bool
    /// Time without work and without daemon after which a detached runner ends.
    var idleLimit = TimeSpan.seconds(30)
    /// True if control groups are used where the machine has them.
    var usesControlGroups = true
    /// True if the service manager has delegated the control group of this process. Not all service managers mark it.
    var isDelegated = false
    /// True if the process went to the background before it became this program.
    var isInBackground = false

    public init(state: String, isDetached: Bool = false) {
        self.state = state
        self.isDetached = isDetached
    }

    /// Parses `--state DIR [--detach] [--no-cgroup] [--delegated] [--idle-limit SECONDS]`.
    public init(arguments: [String]) throws(UsageError) {
        var state: String?
        var isDetached = false
        var isInBackground = false
        var usesControlGroups = true
        var isDelegated = false
        var idleLimit: TimeSpan?
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--state":
                guard let value = rest.popFirst() else { throw UsageError("--state needs a directory") }
                state = value
            case "--detach": isDetached = true
            case "--detached":
                isDetached = true
                isInBackground = true
            case "--no-cgroup": usesControlGroups = false
            case "--delegated": isDelegated = true
            case "--idle-limit":
                guard let seconds = rest.popFirst().flatMap({ Int64($0) }), (0...86_400).contains(seconds) else {
                    throw UsageError("--idle-limit needs a number of seconds")
                }
                idleLimit = .seconds(seconds)
            default: throw UsageError("unknown argument \(word)")
            }
        }
        guard let state, state.hasPrefix("/") else {
            throw UsageError("--state DIR is needed, with an absolute path")
        }
        self.init(state: state, isDetached: isDetached)
        self.usesControlGroups = usesControlGroups
        self.isDelegated = isDelegated
        self.isInBackground = isInBackground
        self.idleLimit = idleLimit ?? self.idleLimit
    }

    /// Arguments for the program that this one becomes.
    var arguments: [String] {
        var words = ["--state", state]
        if isDetached { words.append("--detached") }
        if !usesControlGroups { words.append("--no-cgroup") }
        if isDelegated { words.append("--delegated") }
        words += ["--idle-limit", String(idleLimit.seconds)]
        return words
    }

    var socketPath: String { state + "/" + LaunchProtocol.socketName() }
    var lockPath: String { state + "/" + LaunchProtocol.lockName() }

    func controlGroups() throws(SystemError) -> ControlGroupHierarchy? {
        try usesControlGroups ? .open(name: try groupName(), isDelegated: isDelegated) : nil
    }

    /// Returns a name for our control groups that no other state directory has. Makes it once and stores it.
    func groupName() throws(SystemError) -> String {
        let path = state + "/runner.id"
        if let bytes = try Files.readIfPresent(path, limit: 64), bytes.count == 16,
            bytes.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        {
            return "opsd-" + String(decoding: bytes, as: UTF8.self)
        }
        let fresh = String(try Randomness.identifier().prefix(16))
        try Files.replace(path, with: Array(fresh.utf8), mode: 0o600)
        return "opsd-" + fresh
    }
}

/// Error of a command line.
public struct UsageError: Error, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}

extension RunnerOptions {
    /// Leaves the terminal and the session of the program that started this one.
    public func goToBackground() throws(SystemError) {
        guard isDetached, !isInBackground else { return }
        try Program.detach()
        // A program that reads our output to its end must not wait for us.
        try Program.redirectStandardStreams(log: state + "/runner.log")
    }
}

internal import OpsCore
internal import OpsWire

/// Settings of an executor other than the runner: a section `[executor NAME]`.
struct ExecutorConfiguration: Equatable, Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case slurm, transfer

        /// Program that opsd starts unless a service manager does.
        var program: String { "opsd-\(rawValue)" }
    }

    let name: String
    var kind: Kind?
    /// Maximum number of attempts in flight.
    var window = Limits.executorWindow
    /// Time between two questions about the states of all jobs.
    var interval = TimeSpan.seconds(15)
    /// Directory that compute nodes see, too; empty: the default of the program.
    var spool = ""
    /// Arguments of each submission.
    var args = ""
    /// Connections of transfers to one host at a time; its program reads it.
    var perHost: Int32 = 4
    /// Time after which an attempt that its engine lost counts as interrupted.
    var lostAfter = TimeSpan.seconds(600)
    /// Path of its program; empty: beside opsd, then in PATH.
    var program = ""
    /// True without a section of its own: its program starts with the first operation for it.
    private(set) var isBuiltIn = false

    static let keys = ["kind", "window", "interval", "spool", "args", "per-host", "lost-after", "program"]

    init(name: String) { self.name = name }

    /// The executor `transfer`, which exists unless opsd.conf has a section of this name.
    static let transfers: ExecutorConfiguration = {
        var executor = ExecutorConfiguration(name: Kind.transfer.rawValue)
        executor.kind = .transfer
        executor.isBuiltIn = true
        return executor
    }()

    /// Returns whether a name can be part of file names and of an operation's key.
    static func isName(_ name: String) -> Bool {
        name != "local" && name != "none" && (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Applies one setting.
    mutating func set(_ key: String, to value: String, at place: String) throws(ConfigurationError) {
        let refuse: (String) -> ConfigurationError = { ConfigurationError(place: place, message: "\(key): \($0)") }
        switch key {
        case "kind":
            guard let choice = Kind(rawValue: value) else {
                throw refuse("must be \(Kind.allCases.map(\.rawValue).joined(separator: " or ")), not \"\(value)\"")
            }
            kind = choice
        case "window":
            guard let number = Int32(value), (0...Limits.largestWindow).contains(number) else {
                throw refuse("must be a number from 0 to \(Limits.largestWindow), not \"\(value)\"")
            }
            window = number
        case "interval": interval = try Configuration.duration(value, refuse)
        case "spool", "program":
            guard value.hasPrefix("/") || value.isEmpty else {
                throw refuse("must be an absolute path, not \"\(value)\"")
            }
            if key == "spool" { spool = value } else { program = value }
        case "args": args = value
        case "per-host", "perHost":
            guard let number = Int32(value), (1...Limits.largestWindow).contains(number) else {
                throw refuse("must be a number from 1 to \(Limits.largestWindow), not \"\(value)\"")
            }
            perHost = number
        case "lost-after": lostAfter = try Configuration.duration(value, refuse)
        default:
            throw ConfigurationError(
                place: place, message: "unknown option \"\(key)\"; known: \(Self.keys.joined(separator: ", "))")
        }
    }

    /// The section as text of a configuration file.
    var text: String {
        let values: KeyValuePairs<String, String> = [
            "kind": kind?.rawValue ?? "", "window": "\(window)", "interval": DurationText.format(interval),
            "spool": spool, "args": args, "per-host": "\(perHost)", "lost-after": DurationText.format(lostAfter),
            "program": program.isEmpty ? "beside opsd, or in PATH" : program,
        ]
        return "\n[executor \(name)]\n" + values.map { "\($0.key) = \($0.value)\n" }.joined()
    }
}

extension Configuration {
    /// Adds the executor of a section `[executor NAME]`, unless an earlier section has added it.
    mutating func addExecutor(_ name: String, at place: String) throws(ConfigurationError) {
        guard ExecutorConfiguration.isName(name) else {
            throw ConfigurationError(
                place: place,
                message: "\"\(name)\" cannot name an executor: use up to 32 of a-z, 0-9 and -, but not local or none")
        }
        if executor(name) == nil { executors.append(ExecutorConfiguration(name: name)) }
    }

    func executor(_ name: String) -> ExecutorConfiguration? { executors.first { $0.name == name } }

    /// Windows of all executors, for the rules.
    var executorSettings: [ExecutorSettings] {
        executors.map { ExecutorSettings(name: $0.name, window: $0.window) }
    }
}

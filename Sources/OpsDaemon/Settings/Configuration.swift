internal import OpsCore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Everything that an administrator can configure, with its default.
struct Configuration: Equatable, Sendable {
    /// Treatment of executing operations on SIGTERM.
    enum OnStop: String, CaseIterable, Sendable { case keep, drain, cancel }
    enum LogLevel: String, CaseIterable, Sendable, Comparable {
        case error, warning, notice, info, debug
        static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }
        /// The priority of syslog(3).
        var rank: Int {
            switch self {
            case .error: 3
            case .warning: 4
            case .notice: 5
            case .info: 6
            case .debug: 7
            }
        }
    }

    var state: String
    var socket: String
    /// Number of workers; nil: the number of processors. A number that `SetWorkers` has stored replaces either, until
    /// another one is configured.
    var workers: Int32?
    /// Number of workers: the configured one, or that of the processors.
    var workerCount: Int32 { workers ?? Machine.processors }
    var onStop = OnStop.keep
    var logLevel = LogLevel.notice
    /// The group that may open the socket of root's daemon.
    var group = Self.usualGroup
    /// The only group that need not exist. Without it, only the user of the daemon can open the socket.
    static let usualGroup = "ops"
    /// Path of opsd-runner; empty: beside opsd, then in PATH.
    var runner = ""
    /// Time for which finished operations are kept; nil: without limit.
    var keepFor: TimeSpan? = .days(30)
    /// Number of finished operations that are kept; nil: all.
    var keepAtMost: Int64?
    /// Maximum number of bytes of an attempt's log, beyond which its oldest part is dropped; 0: no limit.
    var logLimit: Int64 = 256 << 20
    /// Maximum number of bytes of all logs, beyond which those of the oldest finished operations are removed; 0: no
    /// limit.
    var logTotal: Int64 = 10 << 30
    /// Commands that are run for every operation that has finished or failed, as its user; empty: none.
    var onFinish = ""
    var onFailure = ""
    /// Time without clients and unfinished operations after which opsd exits, if systemd listens on the socket; nil:
    /// never.
    var exitWhenIdle: TimeSpan?
    var connections = 4096
    var connectionsPerUser = 512
    /// Maximum number of bytes that are buffered for the clients of one user.
    var bufferedPerUser: Int64 = 256 << 20
    /// Maximum number of unfinished operations of one ordinary user.
    var operationsPerUser = 1_000_000
    /// Number of turns that are recorded for a replay; 0: none.
    var record = 0
    /// Executors other than the runner, in the order of their first mention.
    var executors: [ExecutorConfiguration] = []

    init(state: String, socket: String) {
        self.state = state
        self.socket = socket
    }
}

/// An invalid setting, and its place in the configuration.
struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    let place: String
    let message: String
    var description: String { "\(place): \(message)" }
}

extension Configuration {
    /// Keys of the section `[opsd]`, which are options of the command line too.
    static let keys = [
        "state", "socket", "workers", "on-stop", "log-level", "group", "runner", "keep-for", "keep-at-most",
        "log-limit", "log-total", "on-finish", "on-failure", "exit-when-idle", "connections", "connections-per-user",
        "buffered-per-user", "operations-per-user", "record",
    ]

    /// Applies one setting.
    mutating func set(_ key: String, to value: String, at place: String) throws(ConfigurationError) {
        let refuse: (String) -> ConfigurationError = { ConfigurationError(place: place, message: "\(key): \($0)") }
        switch key {
        case "state", "socket":
            guard value.hasPrefix("/") else { throw refuse("must be an absolute path, not \"\(value)\"") }
            if key == "state" { state = value } else { socket = value }
        case "workers":
            guard let number = Int32(value), (0...Limits.workers).contains(number) else {
                throw refuse("must be a number from 0 to \(Limits.workers), not \"\(value)\"")
            }
            workers = number
        case "on-stop":
            guard let choice = OnStop(rawValue: value) else {
                throw refuse("must be keep, drain or cancel, not \"\(value)\"")
            }
            onStop = choice
        case "log-level":
            guard let choice = LogLevel(rawValue: value) else {
                throw refuse("must be error, warning, notice, info or debug, not \"\(value)\"")
            }
            logLevel = choice
        case "group": group = try Self.existingGroup(value, refuse)
        case "runner": runner = value
        case "keep-for": keepFor = value == "forever" ? nil : try Self.duration(value, refuse)
        case "keep-at-most": keepAtMost = value == "all" ? nil : try Self.count(value, atLeast: 0, refuse)
        case "log-limit": logLimit = value == "none" ? 0 : try Self.size(value, refuse)
        case "log-total": logTotal = value == "none" ? 0 : try Self.size(value, refuse)
        case "on-finish": onFinish = value
        case "on-failure": onFailure = value
        case "exit-when-idle": exitWhenIdle = value == "never" ? nil : try Self.duration(value, refuse)
        case "connections": connections = Int(try Self.count(value, atLeast: 4, refuse))
        case "connections-per-user": connectionsPerUser = Int(try Self.count(value, atLeast: 2, refuse))
        case "buffered-per-user": bufferedPerUser = try Self.size(value, atLeast: 1 << 20, refuse)
        case "operations-per-user": operationsPerUser = Int(try Self.count(value, atLeast: 1, refuse))
        case "record":
            guard let number = Int64(value), RecordLimits.turns.contains(number) else {
                throw refuse("must be a number from 0 to \(RecordLimits.turns.upperBound), not \"\(value)\"")
            }
            record = Int(number)
        default:
            throw ConfigurationError(
                place: place, message: "unknown option \"\(key)\"; known: \(Self.keys.joined(separator: ", "))")
        }
    }

    /// Observers that the configured commands stand for.
    var observersOfAll: Observers {
        var observers: Observers = []
        if !onFinish.isEmpty { observers.insert(.finish) }
        if !onFailure.isEmpty { observers.insert(.failed) }
        return observers
    }

    /// The settings as text of a configuration file.
    var text: String {
        let values: KeyValuePairs<String, String> = [
            "state": state, "socket": socket, "workers": workers.map(String.init) ?? "the number of CPUs",
            "on-stop": onStop.rawValue, "log-level": logLevel.rawValue, "group": group,
            "runner": runner.isEmpty ? "beside opsd, or in PATH" : runner,
            "keep-for": keepFor.map(DurationText.format) ?? "forever",
            "keep-at-most": keepAtMost.map(String.init) ?? "all",
            "log-limit": logLimit == 0 ? "none" : SizeText.format(logLimit),
            "log-total": logTotal == 0 ? "none" : SizeText.format(logTotal), "on-finish": onFinish,
            "on-failure": onFailure, "exit-when-idle": exitWhenIdle.map(DurationText.format) ?? "never",
            "connections": "\(connections)", "connections-per-user": "\(connectionsPerUser)",
            "buffered-per-user": SizeText.format(bufferedPerUser), "operations-per-user": "\(operationsPerUser)",
            "record": "\(record)",
        ]
        return values.map { "\($0.key) = \($0.value)\n" }.joined() + executors.map(\.text).joined()
    }

    private static func existingGroup(
        _ name: String, _ refuse: (String) -> ConfigurationError
    ) throws(ConfigurationError) -> String {
        if name == usualGroup { return name }
        let id: UInt32?
        do throws(SystemError) { id = try Account.group(named: name) } catch { throw refuse("\(error)") }
        guard id != nil else { throw refuse("there is no group \"\(name)\"") }
        return name
    }

    private static func count(
        _ value: String, atLeast least: Int64, _ refuse: (String) -> ConfigurationError
    ) throws(ConfigurationError) -> Int64 {
        let most: Int64 = 1 << 40
        guard let number = Int64(value), (least...most).contains(number) else {
            throw refuse("must be a number from \(least) to \(most), not \"\(value)\"")
        }
        return number
    }

    static func duration(
        _ value: String, _ refuse: (String) -> ConfigurationError
    ) throws(ConfigurationError) -> TimeSpan {
        guard let duration = DurationText.parse(value), duration > .zero else {
            throw refuse("must be a duration such as 30d or 12h, not \"\(value)\"")
        }
        return duration
    }

    private static func size(
        _ value: String, atLeast least: Int64 = 4096, _ refuse: (String) -> ConfigurationError
    ) throws(ConfigurationError) -> Int64 {
        let most: Int64 = 1 << 60
        guard let bytes = SizeText.parse(value), (least...most).contains(bytes) else {
            let range = "from \(SizeText.format(least)) to \(SizeText.format(most))"
            throw refuse("must be a size \(range) such as 256M, not \"\(value)\"")
        }
        return bytes
    }
}

/// The rarely set scheduling keys of an operation. Equal policies are stored once.
/// Durations are nanoseconds; instants are wall-clock nanoseconds since 1970.
public struct Policy: Hashable, Sendable, Codable {
    public enum Completion: String, Sendable, CaseIterable, Codable { case exit, notify }

    public var timeout: Int64?
    public var grace = Limits.usualGrace
    public var deadline: Int64?
    public var notBefore: Int64?
    public var retry: RetryPolicy?
    public var successCodes: [Int32] = [0]
    public var completion = Completion.exit
    public var leftovers = Leftovers.kill
    public var conditions: [ConditionPolicy] = []
    /// Maximum number of children of a group that execute at once.
    public var childLimit: Int32?
    public var observers: Observers = []
    /// Name of the executor that runs it, as in opsd.conf; nil: the runner, on this machine.
    public var executor: String?
    public init() {}
}

/// Treatment of processes that outlive the main process.
public enum Leftovers: String, Sendable, CaseIterable, Codable { case kill, wait, leave }

/// The observers that an operation has. Their commands are texts and stay in the store.
public struct Observers: OptionSet, Hashable, Sendable, Codable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let start = Observers(rawValue: 1)
    public static let produce = Observers(rawValue: 2)
    public static let finish = Observers(rawValue: 4)
    /// The finish of an operation that has failed by itself.
    public static let failed = Observers(rawValue: 8)
}

/// Treatment of the result of one condition. Its text stays in the store.
public struct ConditionPolicy: Hashable, Sendable, Codable {
    public enum Otherwise: String, Sendable, CaseIterable, Codable { case fail, skip, wait, succeed }
    public var otherwise: Otherwise
    /// Time for which a true result is valid, and after which a false condition with `wait` is evaluated again.
    public var every: Int64
    public init(otherwise: Otherwise = .fail, every: Int64 = 10_000_000_000) {
        self.otherwise = otherwise
        self.every = every
    }
}

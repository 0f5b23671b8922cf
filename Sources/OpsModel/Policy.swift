/// Scheduling keys of an operation that are rarely set. Equal policies are stored once.
public struct Policy: Hashable, Sendable, Codable {
    public enum Completion: String, Sendable, CaseIterable, Codable { case exit, notify }

    public var timeout: TimeSpan?
    public var grace = Limits.usualGrace
    public var deadline: WallInstant?
    public var notBefore: WallInstant?
    public var retry: RetryPolicy?
    public var successCodes: [Int32] = [0]
    public var completion = Completion.exit
    public var leftovers = Leftovers.kill
    public var conditions: [ConditionPolicy] = []
    /// Maximum number of children of a group that execute at the same time.
    public var childLimit: Int32?
    public var observers: Observers = []
    /// Name of the executor in opsd.conf; nil for the runner on this machine.
    public var executor: String?
    public init() {}
}

/// Treatment of processes that outlive the main process.
public enum Leftovers: String, Sendable, CaseIterable, Codable { case kill, wait, leave }

/// Observers of an operation. Their commands are in the store.
public struct Observers: OptionSet, Hashable, Sendable, Codable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let start = Observers(rawValue: 1)
    public static let produce = Observers(rawValue: 2)
    public static let finish = Observers(rawValue: 4)
    /// Runs if the operation fails, times out or is interrupted.
    public static let failed = Observers(rawValue: 8)
}

/// Handling of the answer of one condition. Its text is in the store.
public struct ConditionPolicy: Hashable, Sendable, Codable {
    public enum Otherwise: String, Sendable, CaseIterable, Codable { case fail, skip, wait, succeed }
    public var otherwise: Otherwise
    /// Time for which a true answer remains valid (at least `Limits.evaluationPause`), and after which a false one with
    /// `wait` is evaluated again.
    public var every: TimeSpan
    public init(otherwise: Otherwise = .fail, every: TimeSpan = .seconds(10)) {
        self.otherwise = otherwise
        self.every = every
    }
}

/// The rarely set scheduling keys of an operation. Equal policies are stored once.
/// Durations are nanoseconds; instants are wall-clock nanoseconds since 1970.
public struct Policy: Hashable, Sendable {
    public enum Completion: UInt8, Sendable { case exit, notify }
    public enum Leftovers: UInt8, Sendable { case kill, wait, leave }

    public var timeout: Int64?
    public var grace: Int64 = 10_000_000_000
    public var deadline: Int64?
    public var notBefore: Int64?
    public var retry: RetryPolicy?
    public var successCodes: [Int32] = [0]
    public var completion = Completion.exit
    public var leftovers = Leftovers.kill
    public var conditions: [ConditionPolicy] = []
    /// Of a group: how many of its children may execute at once.
    public var childLimit: Int32?
    public var observers: Observers = []
    public init() {}
}

/// Which observers an operation has; what they run is text and stays in the store.
public struct Observers: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let start = Observers(rawValue: 1)
    public static let produce = Observers(rawValue: 2)
    public static let finish = Observers(rawValue: 4)
}

/// How the core treats the answer of one condition; what it asks is text and stays in the store.
public struct ConditionPolicy: Hashable, Sendable {
    public enum Otherwise: UInt8, Sendable { case fail, skip, wait }
    public var otherwise: Otherwise
    /// How long an answer stands, and how long a false one with `wait` rests.
    public var every: Int64
    public init(otherwise: Otherwise = .fail, every: Int64 = 10_000_000_000) {
        self.otherwise = otherwise
        self.every = every
    }
}

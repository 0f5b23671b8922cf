/// The rarely set scheduling keys of an operation; durations in nanoseconds.
public struct PolicyInput: Hashable, Sendable {
    /// A duration counts from the submission, an instant since 1970.
    public enum Time: Hashable, Sendable {
        case after(Int64)
        case at(Int64)
    }
    public enum Completion: String, Hashable, Sendable, CaseIterable { case exit, notify }
    public enum Leftovers: String, Hashable, Sendable, CaseIterable { case kill, wait, leave }

    public struct Retry: Hashable, Sendable {
        public var limit: Int32 = 0
        public var backoff: Int64 = 1_000_000_000
        /// In thousandths: 2000 doubles.
        public var factor: Int64 = 2000
        public var max: Int64 = 300_000_000_000
        /// In thousandths of the delay, to either side.
        public var jitter: Int64 = 100
        public var onFailed = true
        public var onTimedOut = true
        public var onInterrupted = false
        /// Empty: any.
        public var exitCodes: [Int32] = []
        public init() {}
    }

    public struct Condition: Hashable, Sendable {
        public enum Otherwise: String, Hashable, Sendable, CaseIterable { case fail, skip, wait }
        public var otherwise = Otherwise.fail
        public var every: Int64 = 10_000_000_000
        public init() {}
    }

    public struct Observers: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        static let start = Observers(rawValue: 1)
        static let produce = Observers(rawValue: 2)
        static let finish = Observers(rawValue: 4)
        static let failed = Observers(rawValue: 8)
    }

    public var timeout: Int64?
    public var grace: Int64 = 10_000_000_000
    public var deadline: Time?
    public var notBefore: Time?
    public var retry: Retry?
    public var successCodes: [Int32] = [0]
    public var completion = Completion.exit
    public var leftovers = Leftovers.kill
    public var conditions: [Condition] = []
    /// Maximum number of children of a group that execute at once.
    public var childLimit: Int32?
    public var observers: Observers = []
    public init() {}
}

/// Readers of the values that make a policy.
extension PolicyInput {
    /// Reads the value of `key`; false if the key is none of a policy's.
    mutating func read(_ key: OperationKey, from scanner: inout JSONScanner) throws(JSONError) -> Bool {
        switch key {
        case .timeout: timeout = try scanner.duration(atLeast: 1)
        case .grace: grace = try scanner.duration(atLeast: 0)
        case .deadline: deadline = try scanner.time(atLeast: 1)
        case .notBefore: notBefore = try scanner.time(atLeast: 0)
        case .retry: retry = try Retry(from: &scanner)
        case .successCodes:
            successCodes = try scanner.exitCodes()
            if successCodes.isEmpty { throw scanner.error(.refused("at least one exit code must count as success")) }
        case .completion: completion = try scanner.choice()
        case .leftovers: leftovers = try scanner.choice()
        case .limit: childLimit = Int32(try scanner.integer(in: 0...Int64(Int32.max)))
        default: return false
        }
        return true
    }
}

extension PolicyInput.Retry {
    private static let keys = ["limit", "backoff", "factor", "max", "jitter", "on", "exitCodes"]

    init(from scanner: inout JSONScanner) throws(JSONError) {
        var hasLimit = false
        try scanner.members(of: Self.keys) { (key, scanner) throws(JSONError) in
            switch key {
            case "limit":
                limit = Int32(try scanner.integer(in: 0...1_000_000))
                hasLimit = true
            case "backoff": backoff = try scanner.duration(atLeast: 0)
            case "factor": factor = try scanner.thousandths(in: 1...1000)
            case "max": max = try scanner.duration(atLeast: 0)
            case "jitter": jitter = try scanner.thousandths(in: 0...1)
            case "on": try readOutcomes(&scanner)
            default: exitCodes = try scanner.exitCodes()
            }
        }
        guard hasLimit else { throw scanner.error(.refused("\"limit\" is missing")).inside("limit") }
    }

    private mutating func readOutcomes(_ scanner: inout JSONScanner) throws(JSONError) {
        (onFailed, onTimedOut, onInterrupted) = (false, false, false)
        try scanner.elements { (scanner) throws(JSONError) in
            let start = scanner.position
            switch try scanner.string() {
            case "failed": onFailed = true
            case "timedOut": onTimedOut = true
            case "interrupted": onInterrupted = true
            case let other:
                let near = Nearest.suggestion(for: other, among: ["failed", "timedOut", "interrupted"])
                throw scanner.error(.refused("\"\(other)\" is none of failed, timedOut, interrupted\(near)"), at: start)
            }
        }
    }
}

/// End of a main process, with the usage of its tree.
public struct ProcessExit: Hashable, Sendable, Codable {
    public enum Status: Hashable, Sendable, Codable {
        case code(Int32)
        case signal(Int32)
    }
    public var status: Status
    public var outOfMemory: Bool
    public var usage: ProcessUsage
    public var at: Moment
    /// Shortest time from `at` until the next attempt.
    public var retryAfter: TimeSpan
    public init(
        status: Status, outOfMemory: Bool = false, usage: ProcessUsage = ProcessUsage(), at: Moment,
        retryAfter: TimeSpan = .zero
    ) {
        self.status = status
        self.outOfMemory = outOfMemory
        self.usage = usage
        self.at = at
        self.retryAfter = retryAfter
    }
}

/// Processor time and memory that a process tree has used.
public struct ProcessUsage: Hashable, Sendable, Codable {
    public var userMicroseconds: Int64
    public var systemMicroseconds: Int64
    public var maxResidentBytes: Int64
    public init(userMicroseconds: Int64 = 0, systemMicroseconds: Int64 = 0, maxResidentBytes: Int64 = 0) {
        self.userMicroseconds = userMicroseconds
        self.systemMicroseconds = systemMicroseconds
        self.maxResidentBytes = maxResidentBytes
    }
}

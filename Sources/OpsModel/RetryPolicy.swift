/// When, and how often, an attempt that did not succeed is repeated.
public struct RetryPolicy: Hashable, Sendable, Codable {
    /// Number of attempts after the first one of a run.
    public var limit: Int32
    public var backoff: TimeSpan
    /// Factor in thousandths: 2000 doubles the delay.
    public var factor: Int64
    public var max: TimeSpan
    /// Jitter in thousandths of the delay, in both directions.
    public var jitter: Int64
    public var onFailed: Bool
    public var onTimedOut: Bool
    public var onInterrupted: Bool
    /// If not empty, only failed attempts with these exit codes are retried.
    public var exitCodes: [Int32]
    /// Values that grow with each further attempt; nil if none does.
    public var scale: RetryScale?
    public init(
        limit: Int32, backoff: TimeSpan = .seconds(1), factor: Int64 = 2000, max: TimeSpan = .seconds(300),
        jitter: Int64 = 100, onFailed: Bool = true, onTimedOut: Bool = true, onInterrupted: Bool = false,
        exitCodes: [Int32] = [], scale: RetryScale? = nil
    ) {
        self.limit = limit
        self.backoff = backoff
        self.factor = factor
        self.max = max
        self.jitter = jitter
        self.onFailed = onFailed
        self.onTimedOut = onTimedOut
        self.onInterrupted = onInterrupted
        self.exitCodes = exitCodes
        self.scale = scale
    }
}

/// Record of the accounting: the result of one nominal instant, or of adjacent instants that did not run.
public struct InstantRecord: Hashable, Sendable {
    public enum Result: Hashable, Sendable, CaseIterable {
        case run
        /// An earlier run was unfinished.
        case skipped
        /// Nothing could be started at the instant, and it was not caught up.
        case missed
        /// The schedule was paused.
        case paused
        /// The run could not be submitted.
        case refused
    }

    public let result: Result
    /// First instant of the record, which is also its key.
    public let nominal: UnixTime
    /// Last instant of the record.
    public let through: UnixTime
    /// Number of instants.
    public let count: Int

    public init(_ result: Result, from nominal: UnixTime, through: UnixTime, count: Int) {
        self.result = result
        self.nominal = nominal
        self.through = through
        self.count = count
    }

    public init(_ result: Result, at nominal: UnixTime) {
        self.init(result, from: nominal, through: nominal, count: 1)
    }

    /// Returns one record for the instants of this one and the next, if neither ran and the results are equal.
    public func joined(with next: InstantRecord) -> InstantRecord? {
        guard result != .run, result == next.result else { return nil }
        return InstantRecord(result, from: nominal, through: next.through, count: count + next.count)
    }
}

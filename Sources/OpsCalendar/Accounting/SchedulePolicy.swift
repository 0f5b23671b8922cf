/// Policy of a schedule: which of its nominal instants run, and with what delay.
public struct SchedulePolicy: Hashable, Sendable {
    /// Policy for an instant while a run of the schedule is unfinished.
    public enum Overlap: Hashable, Sendable, CaseIterable {
        case skip, queueOne, queueAll, cancel, allow

        /// True if a run starts only after the end of the previous one.
        public var isSerial: Bool {
            switch self {
            case .queueOne, .queueAll, .cancel: true
            case .skip, .allow: false
            }
        }

        /// Returns true if an instant is skipped while this many runs are unfinished, including waiting ones.
        public func skips(_ unfinished: Int) -> Bool {
            switch self {
            case .skip: unfinished > 0
            case .queueOne: unfinished > 1
            case .queueAll, .cancel, .allow: false
            }
        }
    }

    /// Policy for instants at which nothing could be started.
    public enum CatchUp: Hashable, Sendable, CaseIterable {
        case none, last, all
    }

    public var overlap = Overlap.skip
    public var catchUp = CatchUp.last
    /// Maximum age, in seconds, of an instant that is caught up.
    public var window: Int64 = 86_400
    /// Longest delay of a run, in seconds.
    public var spread: Int64 = 0
    /// First instant that may run.
    public var from: UnixTime?
    /// Last instant that may run.
    public var until: UnixTime?
    /// Maximum number of runs.
    public var count: Int?

    public init() {}

    /// Setting that contradicts another one, with the reason and what to write instead.
    public var contradiction: (key: String, reason: String)? {
        if catchUp == .all, overlap == .skip {
            return (
                "catchUp",
                "catchUp all with overlap skip would run the first missed instant and skip the others: "
                    + "write overlap queueAll, or catchUp last"
            )
        }
        if let from, let until, until < from { return ("until", "is before from: write a later until") }
        return nil
    }
}

/// The rules of a schedule about its nominal instants: which of them run, and how late.
public struct SchedulePolicy: Hashable, Sendable {
    /// The rule for an instant that comes while a run of the schedule is unfinished.
    public enum Overlap: Hashable, Sendable, CaseIterable {
        case skip, queueOne, queueAll, cancel, allow

        /// True if one run starts after the end of the one before.
        public var isSerial: Bool {
            switch self {
            case .queueOne, .queueAll, .cancel: true
            case .skip, .allow: false
            }
        }

        /// Returns whether an instant is skipped while so many runs are unfinished, waiting ones included.
        public func skips(_ unfinished: Int) -> Bool {
            switch self {
            case .skip: unfinished > 0
            case .queueOne: unfinished > 1
            case .queueAll, .cancel, .allow: false
            }
        }
    }

    /// The rule for instants that came while nothing could be started.
    public enum CatchUp: Hashable, Sendable, CaseIterable {
        case none, last, all
    }

    public var overlap = Overlap.skip
    public var catchUp = CatchUp.last
    /// Age in seconds beyond which an instant is not caught up.
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

    /// The reason why these rules cannot stand together, and what to write instead.
    public var contradiction: String? {
        if catchUp == .all, overlap == .skip {
            return "catchUp all with overlap skip would run the first missed instant and skip the others: "
                + "write overlap queueAll, or catchUp last"
        }
        if let from, let until, until < from { return "until is before from: write a later until" }
        return nil
    }
}

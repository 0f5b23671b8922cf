/// The rules, as a value: events in, transitions out. It has no clock, no disk and no opinion about processes.
public struct Scheduler {
    public init(_ snapshot: Snapshot, at now: Moment) {}
}

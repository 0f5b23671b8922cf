/// A process as the kernel identifies it for good: a pid alone is reused.
public struct LaunchedProcess: Hashable, Sendable, Codable {
    public var pid: Int32
    /// Start time in clock ticks since boot (`/proc/PID/stat`, field 22).
    public var startTicks: UInt64
    public var at: Moment
    public init(pid: Int32, startTicks: UInt64, at: Moment) {
        self.pid = pid
        self.startTicks = startTicks
        self.at = at
    }
}

/// What a descriptor can be ready for; the bits of poll and epoll.
public struct Readiness: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let readable = Readiness(rawValue: 0x1)
    /// EPOLLPRI: a watched kernel file (cgroup.events) has changed.
    public static let changed = Readiness(rawValue: 0x2)
    public static let writable = Readiness(rawValue: 0x4)
    /// Reported unasked.
    public static let error = Readiness(rawValue: 0x8)
    /// Reported unasked: both directions are closed.
    public static let hungUp = Readiness(rawValue: 0x10)
}

/// Events of a descriptor; the bits of poll and epoll.
public struct Readiness: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let readable = Readiness(rawValue: 0x1)
    /// EPOLLPRI: a watched kernel file (cgroup.events) has changed.
    public static let changed = Readiness(rawValue: 0x2)
    public static let writable = Readiness(rawValue: 0x4)
    /// An error, reported even if not requested.
    public static let error = Readiness(rawValue: 0x8)
    /// Both directions are closed; reported even if not requested.
    public static let hungUp = Readiness(rawValue: 0x10)
}

internal import OpsCalendar
internal import OpsSystem

/// The calendar counts in seconds, everything else in nanoseconds.
extension UnixTime {
    /// Drops the fraction of a second.
    init(flooring instant: WallInstant) { self.init(flooringNanoseconds: instant.nanoseconds) }

    /// The same instant; nil after 2262.
    var wallInstant: WallInstant? { nanoseconds.map { WallInstant(nanoseconds: $0) } }
}

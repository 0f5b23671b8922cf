internal import Glibc
// The clock returns values of OpsModel.
@_exported public import OpsModel

/// The only clock of the project.
public enum Clock {
    public static func read() -> Moment {
        Moment(
            monotonic: MonotonicInstant(nanoseconds: read(CLOCK_BOOTTIME)),
            wall: WallInstant(nanoseconds: read(CLOCK_REALTIME)))
    }

    /// Returns the minutes since local midnight.
    public static func minuteOfDay() -> Int {
        var now = time_t(read(CLOCK_REALTIME) / 1_000_000_000)
        var local = unsafe tm()
        unsafe localtime_r(&now, &local)
        return unsafe Int(local.tm_hour) * 60 + Int(local.tm_min)
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        let result = unsafe clock_gettime(clock, &time)
        precondition(result == 0, "Linux has this clock since 2.6.39")
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

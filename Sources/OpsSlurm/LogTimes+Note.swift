public import OpsSystem

extension LogTimes {
    /// Notes when the newest bytes of a log were written, behind the times that the file beside the log has: all bytes below
    /// the length of `time` were written by its instant.
    ///
    /// A time that comes soon after the one before the last replaces the last. So each byte has its instant to within a
    /// second, however often this is called.
    public static func note(_ time: LogTime, log: String) throws(SystemError) {
        var time = time
        var count = 0
        if let known = try LogTimeReader.open(log: log) {
            count = known.count
            let last = try known.times(from: max(0, count - 2), count: 2)
            // The user can set the instant of the last write back, and the clocks of machines differ.
            if let latest = last.last { time.at = max(time.at, latest.at) }
            if last.count == 2, time.at < last[0].at.clampedSum(pause(after: count)) { count -= 1 }
        }
        try append(time, to: log, after: count)
    }
}

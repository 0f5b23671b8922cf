internal import OpsExecutor
internal import OpsSystem

/// Notes about once a second how long the logs of running attempts have become, so that each line of a log has a time.
///
/// The processes write their logs themselves. An attempt that ends within the first second has no notes: the times of
/// its file are enough.
struct LogSampler {
    private struct Log {
        let file: LogFile
        /// Length that was noted last.
        var length: Int64 = 0
        /// Number of notes.
        var count = 0
        /// Instant before which the log is not examined.
        var lookAt: MonotonicInstant

        /// Time between two notes.
        var pause: TimeSpan { LogTimes.pause(after: count) }
    }
    private static let interval = TimeSpan.seconds(1)
    private static let pauseAfterFailure = TimeSpan.seconds(60)

    private var logs: [AttemptID: [Log]] = [:]
    /// Instant of the next examination; `nil` if there are no logs.
    private(set) var dueAt: MonotonicInstant?

    init() {}

    /// Continues with the logs that the previous program had open, except those with notes that cannot be read.
    init(resuming open: [(attempt: AttemptID, files: [LogFile])]) {
        for (attempt, files) in open {
            logs[attempt] = files.compactMap { file in
                do throws(SystemError) {
                    return try LogSampler.resume(file)
                } catch {
                    Program.writeError("opsd-runner: \(error)")
                    return nil
                }
            }
        }
        dueAt = logs.isEmpty ? nil : .zero
    }

    private static func resume(_ file: LogFile) throws(SystemError) -> Log {
        var log = Log(file: file, lookAt: .zero)
        if let times = try LogTimeReader.open(log: file.path), times.count > 0 {
            log.count = times.count
            log.length = try times.times(from: times.count - 1, count: 1).first?.length ?? 0
        }
        return log
    }

    mutating func add(_ attempt: AttemptID, _ files: [LogFile], now: MonotonicInstant) {
        guard !files.isEmpty else { return }
        logs[attempt] = files.map { Log(file: $0, lookAt: now) }
        dueAt = dueAt ?? now + LogSampler.interval
    }

    /// Notes the last length of the logs of an attempt that has ended.
    mutating func end(_ attempt: AttemptID) throws(SystemError) {
        guard let ended = logs.removeValue(forKey: attempt) else { return }
        for var log in ended where log.count > 0 { try LogSampler.noteLength(of: &log) }
    }

    /// Examines the logs if that is due. Throws the first error after all were examined. A log whose length cannot be
    /// noted, as on a full disk, is examined again after a longer pause.
    mutating func sample(now: MonotonicInstant) throws(SystemError) {
        guard let due = dueAt, due <= now else { return }
        var failure: SystemError?
        for attempt in logs.keys {
            logs[attempt] = logs[attempt]?.map { log in
                guard log.lookAt <= now else { return log }
                var log = log
                do throws(SystemError) {
                    try LogSampler.noteLength(of: &log)
                } catch {
                    failure = failure ?? error
                    log.lookAt = now + LogSampler.pauseAfterFailure
                    return log
                }
                log.lookAt = now + log.pause
                return log
            }
        }
        dueAt = logs.isEmpty ? nil : now + LogSampler.interval
        if let failure { throw failure }
    }

    private static func noteLength(of log: inout Log) throws(SystemError) {
        guard let (length, at) = try log.file.lastWrite(), length != log.length else { return }
        // A log that became shorter was emptied by its operation: the earlier times are of bytes that are gone.
        if length < log.length { log.count = 0 }
        if length > 0 {
            try LogTimes.append(LogTime(at: at, length: length), to: log.file.path, after: log.count)
            log.count += 1
        }
        log.length = length
    }
}

/// Reports of executors. An executor may be any program: what it reports is stored, and its instants are computed with.
extension Event {
    /// Returns the report about an attempt that has started at `start`, with values that can be true.
    func plausible(since start: Moment, now: Moment) -> Event {
        switch self {
        case .accepted(let attempt, let job): return .accepted(attempt, job: job.inOneLine)
        case .launched(let attempt, var process):
            process.at = process.at.clamped(from: start, to: now)
            return .launched(attempt, process)
        case .refused(let attempt, let cause): return .refused(attempt, cause.inOneLine)
        case .launchFailed(let attempt, let step, let errno):
            return .launchFailed(attempt, step: step.inOneLine, errno: errno)
        case .exited(let attempt, let exit, let treeIsGone):
            return .exited(attempt, exit.plausible(since: start, now: now), treeIsGone: treeIsGone)
        case .ended(let attempt, var end):
            end.cause = end.cause.inOneLine
            end.exit = end.exit?.plausible(since: start, now: now)
            end.at = end.at.clamped(from: end.exit?.at ?? start, to: now)
            return .ended(attempt, end)
        case .updated(let attempt, var update):
            update.status = update.status?.inOneLine
            update.result = update.result?.inOneLine
            update.progressDone = update.progressDone.map { max($0, 0) }
            update.progressTotal = update.progressTotal.map { max($0, 0) }
            return .updated(attempt, update)
        default: return self
        }
    }
}

extension ProcessExit {
    /// Longest time that an executor can make the next attempt wait.
    private static let longestWait = TimeSpan.days(1)

    fileprivate func plausible(since start: Moment, now: Moment) -> ProcessExit {
        var exit = self
        switch status {
        case .code(0...255), .signal(1...64): break
        // No process ends like this. It has not succeeded.
        case .code, .signal: exit.status = .code(255)
        }
        exit.usage = ProcessUsage(
            userMicroseconds: max(usage.userMicroseconds, 0), systemMicroseconds: max(usage.systemMicroseconds, 0),
            maxResidentBytes: max(usage.maxResidentBytes, 0))
        exit.at = at.clamped(from: start, to: now)
        exit.retryAfter = min(retryAfter, Self.longestWait)
        return exit
    }
}

extension Moment {
    /// Returns the nearest moment that is neither before `start` nor after `end`.
    fileprivate func clamped(from start: Moment, to end: Moment) -> Moment {
        Moment(
            monotonic: min(max(monotonic, start.monotonic), end.monotonic), wall: min(max(wall, start.wall), end.wall))
    }
}

extension String {
    /// Longest text of a report, in characters.
    private static let longestReport = 4096

    /// The text without control characters, which could control a terminal or end a string of C.
    fileprivate var inOneLine: String {
        if utf8.count <= Self.longestReport, utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return self }
        let start = unicodeScalars.prefix(Self.longestReport)
        return String(String.UnicodeScalarView(start.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}

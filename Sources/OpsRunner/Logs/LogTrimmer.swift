internal import OpsExecutor
internal import OpsSystem

/// Keeps logs within their caps by dropping their oldest part, for as long as any process can write to them: also one that
/// an operation has left behind, or one outside of the operation that was given the descriptor.
///
/// Sizes are checked from time to time, only while there is a capped log, and the more often the faster a log grows.
struct LogTrimmer {
    private struct Log {
        let attempt: AttemptID
        var files: [LogFile]
        let cap: Int64
        /// User of the attempt, who owns the files.
        let uid: UInt32
        var length: Int64 = 0
        var interval = LogTrimmer.fastest
        var checkAt: MonotonicInstant
        /// True if the attempt has ended and processes of it may be left.
        var hasLeftovers = false
    }
    private static let slowest = TimeSpan.seconds(8)
    private static let fastest = TimeSpan.milliseconds(125)
    /// Cap of a log without one.
    private static let none = Int64.max
    /// Errors with which every trim of a file fails.
    private static let lastingErrors = [SpawnError.notSupported, SystemError.notPermitted, SystemError.invalid]
    /// Most logs checked in one turn.
    private static let checksPerTurn = 512

    private var running: [AttemptID: Log] = [:]
    /// Logs of ended attempts that other processes may write to. Numbered, since an attempt may be launched again.
    private var ended: [Int: Log] = [:]
    private var firstEnded = 1
    private var lastEnded = 0
    /// Child processes that trim a file.
    private var trims: [Int32: LogFile?] = [:]
    /// Instant of the next check; `nil`: there is no capped log.
    private(set) var dueAt: MonotonicInstant?
    /// Logs for the runner that follows this one if it is killed.
    private var journal: LogJournal?

    /// Most logs of ended attempts that are kept open; each needs one or two descriptors.
    var endedLimit = 1024

    mutating func add(_ attempt: AttemptID, _ files: [LogFile], cap: Int64, uid: UInt32, now: MonotonicInstant) {
        guard !files.isEmpty else { return }
        // A new operation may write fast from its start. A log without a cap is kept open, too: others note its growth.
        let cap = cap > 0 ? cap : LogTrimmer.none
        let pause = cap == LogTrimmer.none ? LogTrimmer.slowest : LogTrimmer.fastest
        let log = Log(attempt: attempt, files: files, cap: cap, uid: uid, checkAt: now + pause)
        running[attempt] = log
        schedule(now + pause)
        // A process of another user may have given its log to a process that is not killed with the others.
        if uid != Identity.uid { note(log) }
    }

    /// Trims the log of an ended attempt a last time, or keeps checking it while other processes have it open.
    mutating func end(_ attempt: AttemptID, hasLeftovers: Bool, now: MonotonicInstant) throws(SystemError) {
        guard var log = running.removeValue(forKey: attempt), log.cap < LogTrimmer.none else { return }
        log.hasLeftovers = hasLeftovers
        log.interval = LogTrimmer.fastest
        log.checkAt = now + log.interval
        do throws(SystemError) {
            if try settle(&log) { return }
        } catch {
            keep(log)
            throw error
        }
        keep(log)
    }

    private mutating func keep(_ log: Log) {
        lastEnded += 1
        ended[lastEnded] = log
        schedule(log.checkAt)
        note(log)
        while ended.count > endedLimit {
            if let dropped = ended.removeValue(forKey: firstEnded) {
                let path = dropped.files.first?.path ?? ""
                Program.writeError(
                    "opsd-runner: too many logs of ended operations are still open: \(path) has no limit")
            }
            firstEnded += 1
        }
    }

    /// Open logs of running attempts.
    var openLogs: [(attempt: AttemptID, files: [LogFile])] { running.values.map { ($0.attempt, $0.files) } }

    /// True if logs of ended attempts are still being checked.
    var hasEnded: Bool { !ended.isEmpty }

    private mutating func schedule(_ instant: MonotonicInstant) { dueAt = min(dueAt ?? instant, instant) }

    // MARK: Checking

    /// Checks the logs that are due. Throws the first error after all have been checked.
    mutating func trimDueLogs(now: MonotonicInstant) throws(SystemError) {
        guard let due = dueAt, due <= now else { return }
        var failure: SystemError?
        for attempt in running.filter({ $0.value.checkAt <= now }).keys.prefix(LogTrimmer.checksPerTurn) {
            guard var log = running.removeValue(forKey: attempt) else { continue }
            do throws(SystemError) {
                try examine(&log, now: now)
            } catch {
                failure = failure ?? error
            }
            if !log.files.isEmpty { running[attempt] = log }
        }
        for number in ended.filter({ $0.value.checkAt <= now }).keys.sorted().prefix(LogTrimmer.checksPerTurn) {
            guard var log = ended.removeValue(forKey: number) else { continue }
            do throws(SystemError) {
                try examine(&log, now: now)
                if try settle(&log) { continue }
            } catch {
                failure = failure ?? error
            }
            if !log.files.isEmpty { ended[number] = log }
        }
        dueAt = (running.values.map(\.checkAt) + ended.values.map(\.checkAt)).min()
        if let failure { throw failure }
    }

    private mutating func examine(_ log: inout Log, now: MonotonicInstant) throws(SystemError) {
        log.interval = min(log.interval * 2, LogTrimmer.slowest)
        log.checkAt = now + log.interval
        var total: Int64 = 0
        for file in log.files {
            guard let size = try file.size() else { continue }
            total = total.clampedSum(size.length)
            if LogTrimmer.exceeds(size.stored, log.cap) { try startTrim(of: file, keeping: log.cap) }
        }
        // The log has grown by a good part of its cap since the last check.
        if total - log.length > log.cap / 64 {
            log.interval = LogTrimmer.fastest
            log.checkAt = now + log.interval
        }
        log.length = total
    }

    /// Returns whether a log is over its cap by an eighth: without slack a log at its cap would be trimmed for every
    /// line.
    private static func exceeds(_ stored: Int64, _ cap: Int64) -> Bool { stored - cap > cap / 8 }

    /// Trims a file in a process of its own: the owner of the file can delay any change of it.
    private mutating func startTrim(of file: LogFile, keeping cap: Int64) throws(SystemError) {
        if isBeingTrimmed(file) { return }
        if let pid = try file.trimApart(keeping: cap) { trims[pid] = .some(file) }
    }

    private func isBeingTrimmed(_ file: LogFile) -> Bool { trims.values.contains { $0 === file } }

    /// Trims the files of an ended attempt that no other process has open. Returns whether they are within their cap and no
    /// process can write to them any more.
    private mutating func settle(_ log: inout Log) throws(SystemError) -> Bool {
        var isSettled = true
        for file in log.files {
            var wasTakenOver = false
            let others = try file.whileExclusive { () throws(SystemError) in
                if let size = try file.size(), LogTrimmer.exceeds(size.stored, log.cap) {
                    try file.trim(keeping: log.cap)
                }
                // A removed log can have other names. It stays its user's, so that it counts in their quota.
                if log.uid != Identity.uid, !file.isOwnershipTaken, try !file.isRemoved() {
                    try file.acquireOwnership()
                    wasTakenOver = true
                }
            }
            switch others {
            case .none:
                // A process may have been about to open the file: the next check decides.
                if wasTakenOver { isSettled = false }
            case .some: isSettled = false
            case .unknown:
                if let size = try file.size(), LogTrimmer.exceeds(size.stored, log.cap) {
                    try startTrim(of: file, keeping: log.cap)
                }
                if log.hasLeftovers || isBeingTrimmed(file) { isSettled = false }
            }
        }
        return isSettled
    }

    // MARK: Trimming

    /// Returns whether a child of ours trims a log.
    func isTrimming(_ pid: Int32) -> Bool { trims[pid] != nil }

    /// Records the end of a child; returns `false` if it trimmed no log. A log whose file system cannot punch holes is
    /// given up. After another error, as on a full disk, its next check tries again.
    mutating func finishTrim(_ child: EndedChild) throws(SystemError) -> Bool {
        guard let trimmed = trims.removeValue(forKey: child.pid) else { return false }
        guard let file = trimmed, case .code(let errno) = child.status, errno != 0 else { return true }
        if LogTrimmer.lastingErrors.contains(errno) {
            for attempt in running.keys { running[attempt]?.files.removeAll { $0 === file } }
            for number in ended.keys { ended[number]?.files.removeAll { $0 === file } }
        }
        throw SystemError("trim \(file.path)", errno: errno)
    }

    init() {}
}

// MARK: Death of the runner

extension LogTrimmer {
    /// Records from now on which logs have to be bounded, and continues with those of a runner that was killed.
    mutating func useJournal(in directory: String, now: MonotonicInstant) throws(SystemError) {
        let (journal, entries) = try LogJournal.open(in: directory)
        self.journal = journal
        // After an upgrade in place the logs are known.
        let known = Set((Array(running.values) + Array(ended.values)).flatMap { $0.files.map(\.path) })
        for entry in entries where !known.contains(entry.path) {
            guard let file = try LogFile.adopt(entry.path, inode: entry.inode, owner: entry.uid) else { continue }
            var log = Log(attempt: entry.attempt, files: [file], cap: entry.cap, uid: entry.uid, checkAt: now)
            log.hasLeftovers = entry.hasLeftovers
            lastEnded += 1
            ended[lastEnded] = log
            schedule(now)
        }
        try journal.replace(by: currentEntries)
    }

    /// A log without its line in the journal is bounded only by this runner; that is no reason to refuse a launch.
    private func note(_ log: Log) {
        guard let journal, log.cap < LogTrimmer.none else { return }
        do throws(SystemError) {
            try journal.note(entries(of: log))
            if journal.isLong(for: running.count + ended.count) { try journal.replace(by: currentEntries) }
        } catch {
            Program.writeError("opsd-runner: \(error)")
        }
    }

    private var currentEntries: [LogJournal.Entry] {
        get throws(SystemError) {
            var all: [LogJournal.Entry] = []
            for log in Array(running.values) + Array(ended.values) where log.cap < LogTrimmer.none {
                all += try entries(of: log)
            }
            return all
        }
    }

    private func entries(of log: Log) throws(SystemError) -> [LogJournal.Entry] {
        var entries: [LogJournal.Entry] = []
        for file in log.files {
            guard let inode = try file.inode() else { continue }
            entries.append(
                LogJournal.Entry(
                    attempt: log.attempt, cap: log.cap, uid: log.uid, hasLeftovers: log.hasLeftovers, inode: inode,
                    path: file.path))
        }
        return entries
    }
}

// MARK: Re-execution

extension LogTrimmer {
    /// Packs names and caps, for programs from before open logs were handed over.
    func pack(into packer: inout Packer) {
        packer.pack(Array(running.values) + Array(ended.values)) { packer, log in
            packer.pack(log.attempt)
            packer.pack(log.files.map(\.path)) { $0.pack($1) }
            packer.pack(log.cap)
        }
    }

    init(from: inout Unpacker) throws(ProtocolError) {
        let logs = try from.list { (from: inout Unpacker) throws(ProtocolError) in
            (try from.attempt(), try from.texts(), try from.number() as Int64)
        }
        for (attempt, paths, cap) in logs {
            let files = paths.map { LogFile($0, descriptor: nil, isOwnershipTaken: false) }
            // Checked at once. The user is not known, so the files stay theirs.
            running[attempt] = Log(attempt: attempt, files: files, cap: cap, uid: Identity.uid, checkAt: .zero)
        }
        dueAt = logs.isEmpty ? nil : .zero
    }

    /// Packs everything, with the numbers of descriptors that are open in this process.
    func packOpen(into packer: inout Packer) {
        let all = running.values.map { (log: $0, hasEnded: false) } + ended.values.map { (log: $0, hasEnded: true) }
        packer.pack(all) { packer, entry in
            packer.pack(entry.log.attempt)
            packer.pack(entry.log.files) {
                $0.pack($1.path)
                $0.pack($1.openNumber) { $0.pack($1) }
                $0.pack($1.isOwnershipTaken)
            }
            packer.pack(entry.log.cap)
            packer.pack(entry.log.uid)
            packer.pack(entry.log.hasLeftovers)
            packer.pack(entry.hasEnded)
        }
        packer.pack(Array(trims.keys)) { $0.pack($1) }
    }

    init(openFrom from: inout Unpacker) throws(ProtocolError) {
        let logs = try from.list { (from: inout Unpacker) throws(ProtocolError) in
            var log = Log(
                attempt: try from.attempt(),
                files: try from.list { (from: inout Unpacker) throws(ProtocolError) in
                    LogFile(try from.text(), descriptor: try from.optionalNumber(), isOwnershipTaken: try from.flag())
                }, cap: try from.number(), uid: try from.number(), checkAt: .zero)
            log.hasLeftovers = try from.flag()
            return (log: log, hasEnded: try from.flag())
        }
        for (log, hasEnded) in logs {
            if hasEnded {
                lastEnded += 1
                ended[lastEnded] = log
            } else {
                running[log.attempt] = log
            }
        }
        dueAt = logs.isEmpty ? nil : .zero
        let pids = try from.list { (from: inout Unpacker) throws(ProtocolError) in try from.number() as Int32 }
        for pid in pids { trims[pid] = .some(nil) }
    }

    func setInherited(_ inherited: Bool) throws(SystemError) {
        for log in Array(running.values) + Array(ended.values) {
            for file in log.files { try file.setInherited(inherited) }
        }
    }
}

internal import OpsSystem

/// Keeps logs within their caps by dropping their oldest part, for as long as any process can write to them: one that an
/// operation has left behind, or one outside of it that was handed the descriptor.
///
/// It looks at sizes from time to time, only while there is a capped log; a log that grows fast is looked at often.
struct LogKeeper {
    private struct Log {
        let attempt: Attempt
        var files: [LogFile]
        let cap: Int64
        /// The attempt's user, whose files they are.
        let uid: UInt32
        var length: Int64 = 0
        var interval = LogKeeper.fastest
        var lookAt: Int64
        /// The attempt has ended, but processes of it may be left.
        var isLeft = false
    }
    private static let slowest: Int64 = 8_000_000_000
    private static let fastest: Int64 = 125_000_000
    /// So that very many do not hold up the rest.
    private static let looksPerTurn = 512

    private var running: [Attempt: Log] = [:]
    /// Logs of attempts that have ended, while others may write to them. Numbered, since an id may be given again.
    private var ended: [Int: Log] = [:]
    private var firstEnded = 1
    private var lastEnded = 0
    /// Processes that trim a file.
    private var trims: [Int32: LogFile?] = [:]
    /// When to look next; `nil`: nothing to look at.
    private(set) var dueAt: Int64?
    /// Each costs a descriptor, or two.
    var mostEnded = 1024

    mutating func add(_ attempt: Attempt, _ files: [LogFile], cap: Int64, uid: UInt32, now: Int64) {
        guard cap > 0, !files.isEmpty else { return }
        // A new one may write at once.
        running[attempt] = Log(attempt: attempt, files: files, cap: cap, uid: uid, lookAt: now + LogKeeper.fastest)
        schedule(now + LogKeeper.fastest)
    }

    /// The attempt has ended: its log is looked at a last time, or again and again while others have it open.
    mutating func end(_ attempt: Attempt, isLeft: Bool, now: Int64) throws(SystemError) {
        guard var log = running.removeValue(forKey: attempt) else { return }
        log.isLeft = isLeft
        log.interval = LogKeeper.fastest
        log.lookAt = now + log.interval
        do throws(SystemError) {
            if try isSettled(&log) { return }
        } catch {
            keep(log)
            throw error
        }
        keep(log)
    }

    private mutating func keep(_ log: Log) {
        lastEnded += 1
        ended[lastEnded] = log
        schedule(log.lookAt)
        while ended.count > mostEnded {
            if let given = ended.removeValue(forKey: firstEnded) {
                let path = given.files.first?.path ?? ""
                Program.complain("opsd-runner: too many logs of ended operations are still open: \(path) has no limit")
            }
            firstEnded += 1
        }
    }

    /// Logs of ended attempts are still bounded.
    var hasEnded: Bool { !ended.isEmpty }

    private mutating func schedule(_ instant: Int64) { dueAt = min(dueAt ?? .max, instant) }

    // MARK: Looking

    /// Looks at those whose time has come; throws the first error when all have been looked at.
    mutating func look(now: Int64) throws(SystemError) {
        guard let due = dueAt, due <= now else { return }
        var failure: SystemError?
        for attempt in running.filter({ $0.value.lookAt <= now }).keys.prefix(LogKeeper.looksPerTurn) {
            guard var log = running.removeValue(forKey: attempt) else { continue }
            do throws(SystemError) {
                try examine(&log, now: now)
            } catch {
                failure = failure ?? error
            }
            if !log.files.isEmpty { running[attempt] = log }
        }
        for number in ended.filter({ $0.value.lookAt <= now }).keys.sorted().prefix(LogKeeper.looksPerTurn) {
            guard var log = ended.removeValue(forKey: number) else { continue }
            do throws(SystemError) {
                try examine(&log, now: now)
                if try isSettled(&log) { continue }
            } catch {
                failure = failure ?? error
            }
            if !log.files.isEmpty { ended[number] = log }
        }
        dueAt = (running.values.map(\.lookAt) + ended.values.map(\.lookAt)).min()
        if let failure { throw failure }
    }

    private mutating func examine(_ log: inout Log, now: Int64) throws(SystemError) {
        log.interval = min(log.interval * 2, LogKeeper.slowest)
        log.lookAt = now + log.interval
        var total: Int64 = 0
        for file in log.files {
            guard let size = try file.size() else { continue }
            total = total.clampedSum(size.length)
            if LogKeeper.exceeds(size.stored, log.cap) { try startTrim(of: file, keeping: log.cap) }
        }
        // By a good part of its cap since the last look.
        if total - log.length > log.cap / 64 {
            log.interval = LogKeeper.fastest
            log.lookAt = now + log.interval
        }
        log.length = total
    }

    /// With slack, so that a log at its cap is not trimmed for every line.
    private static func exceeds(_ stored: Int64, _ cap: Int64) -> Bool { stored - cap > cap / 8 }

    /// In a process of its own: its owner can hold up whoever changes the file.
    private mutating func startTrim(of file: LogFile, keeping cap: Int64) throws(SystemError) {
        if isBeingTrimmed(file) { return }
        if let pid = try file.trimApart(keeping: cap) { trims[pid] = .some(file) }
    }

    private func isBeingTrimmed(_ file: LogFile) -> Bool { trims.values.contains { $0 === file } }

    /// Whether nobody can write to the files of an ended attempt any more, and they are within their cap.
    private mutating func isSettled(_ log: inout Log) throws(SystemError) -> Bool {
        var isSettled = true
        for file in log.files {
            var isNews = false
            let others = try file.whileAlone { () throws(SystemError) in
                if let size = try file.size(), LogKeeper.exceeds(size.stored, log.cap) {
                    try file.trim(keeping: log.cap)
                }
                if log.uid != Identity.uid, !file.isTaken {
                    try file.take()
                    isNews = true
                }
            }
            switch others {
            case .none:
                // Somebody may have been about to open it: the next look tells.
                if isNews { isSettled = false }
            case .some: isSettled = false
            case .unknown:
                if let size = try file.size(), LogKeeper.exceeds(size.stored, log.cap) {
                    try startTrim(of: file, keeping: log.cap)
                }
                if log.isLeft || isBeingTrimmed(file) { isSettled = false }
            }
        }
        return isSettled
    }

    // MARK: Trimming

    /// Whether this child of ours trims a log.
    func isTrimming(_ pid: Int32) -> Bool { trims[pid] != nil }

    /// Takes note of the end of a child; false: it trimmed no log. A log that cannot be trimmed (its file system cannot
    /// punch holes) is given up: it would fail every time.
    mutating func trimEnded(_ child: EndedChild) throws(SystemError) -> Bool {
        guard let trimmed = trims.removeValue(forKey: child.pid) else { return false }
        guard let file = trimmed, case .code(let errno) = child.status, errno != 0 else { return true }
        for attempt in running.keys { running[attempt]?.files.removeAll { $0 === file } }
        for number in ended.keys { ended[number]?.files.removeAll { $0 === file } }
        throw SystemError("trim \(file.path)", errno: errno)
    }

    /// An empty one.
    init() {}
}

// MARK: Re-execution

extension LogKeeper {
    /// The names and caps of all, as programs from before open logs were handed on know them.
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
            let files = paths.map { LogFile($0, descriptor: nil, isTaken: false) }
            // Looked at at once. The user is not known: what is not taken away stays theirs.
            running[attempt] = Log(attempt: attempt, files: files, cap: cap, uid: Identity.uid, lookAt: 0)
        }
        dueAt = logs.isEmpty ? nil : 0
    }

    /// All of it, with the numbers of descriptors that are open in this process.
    func packOpen(into packer: inout Packer) {
        let all = running.values.map { (log: $0, hasEnded: false) } + ended.values.map { (log: $0, hasEnded: true) }
        packer.pack(all) { packer, entry in
            packer.pack(entry.log.attempt)
            packer.pack(entry.log.files) {
                $0.pack($1.path)
                $0.pack($1.openNumber) { $0.pack($1) }
                $0.pack($1.isTaken)
            }
            packer.pack(entry.log.cap)
            packer.pack(entry.log.uid)
            packer.pack(entry.log.isLeft)
            packer.pack(entry.hasEnded)
        }
        packer.pack(Array(trims.keys)) { $0.pack($1) }
    }

    init(openFrom from: inout Unpacker) throws(ProtocolError) {
        let logs = try from.list { (from: inout Unpacker) throws(ProtocolError) in
            var log = Log(
                attempt: try from.attempt(),
                files: try from.list { (from: inout Unpacker) throws(ProtocolError) in
                    LogFile(try from.text(), descriptor: try from.optionalNumber(), isTaken: try from.flag())
                }, cap: try from.number(), uid: try from.number(), lookAt: 0)
            log.isLeft = try from.flag()
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
        dueAt = logs.isEmpty ? nil : 0
        let pids = try from.list { (from: inout Unpacker) throws(ProtocolError) in try from.number() as Int32 }
        for pid in pids { trims[pid] = .some(nil) }
    }

    func setInherited(_ inherited: Bool) throws(SystemError) {
        for log in Array(running.values) + Array(ended.values) {
            for file in log.files { try file.setInherited(inherited) }
        }
    }
}

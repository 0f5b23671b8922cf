internal import Glibc
internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// An attempt with its files: the spool, and the log that opsd reads.
final class SlurmAttempt {
    let request: LaunchRequest
    let paths: SpoolPaths
    var tracker: JobTracker
    /// True if its processes must be stopped as soon as they start.
    var isFrozen = false
    /// True if opsd no longer needs its end.
    var isAcknowledged = false

    init(_ request: LaunchRequest, paths: SpoolPaths, tracker: JobTracker) {
        self.request = request
        self.paths = paths
        self.tracker = tracker
    }

    var attempt: Attempt { request.attempt }
    var uid: UInt32 { tracker.user }

    // MARK: The spool

    /// Makes the directory of an attempt. The launch is written last: without it the attempt does not exist.
    static func spool(_ request: LaunchRequest, at paths: SpoolPaths) throws(SystemError) {
        try Files.makeDirectories(paths.directory, mode: 0o711)
        try Files.makeDirectories(paths.run, mode: 0o700)
        try Files.replace(paths.launch, with: SpooledLaunch.bytes(request), mode: 0o600)
        guard let user = request.user, user.uid != Identity.uid else { return }
        for path in [paths.run, paths.launch] {
            guard chown(path, user.uid, user.gid) == 0 else { throw SystemError("chown \(path)", errno: errno) }
        }
    }

    /// Removes the directory. The files are those of this program and opsd-step.
    func removeSpool() throws(SystemError) {
        // The launch goes first: without it the rest is nobody's.
        for path in [paths.launch, paths.state] { try Files.remove(path) }
        for path in [paths.started, paths.exit, paths.exit + ".new", paths.output, paths.errors, paths.stepLog] {
            try Files.remove(path)
        }
        try Files.removeDirectory(paths.run)
        try Files.removeDirectory(paths.directory)
    }

    /// Returns the records that the job has written.
    func records() throws(SystemError) -> (start: StartRecord?, exit: ExitRecord?) {
        let exit = try Self.bytes(paths.exit).flatMap { ExitRecord($0) }
        return (try Self.bytes(paths.started).map { StartRecord($0) }, exit)
    }

    private static func bytes(_ path: String) throws(SystemError) -> [UInt8]? {
        guard let file = try ReadableFile.open(path) else { return nil }
        return try file.read(at: 0, count: 4096)
    }

    // MARK: The log

    /// Makes the log, unless an earlier process has.
    func makeLogs() throws(SystemError) {
        for (_, path) in logs where !Files.exists(path) {
            _ = try LogFile.create(path, owner: request.user.map { (uid: $0.uid, gid: $0.gid) })
        }
    }

    private var logs: [(source: String, path: String)] {
        switch request.output {
        case .log(let path): [(paths.output, path)]
        case .split(let stdout, let stderr): [(paths.output, stdout), (paths.errors, stderr)]
        case .paths, .journal, .null: []
        }
    }

    /// Copies new output from the spool to the log of opsd. `isLast`: together with all messages of Slurm about the
    /// job.
    func copyLogs(isLast: Bool) throws(SystemError) {
        for log in logs {
            let file = LogFile(log.path, descriptor: nil, isOwnershipTaken: false)
            guard var length = try file.size()?.length else { continue }
            while let bytes = try Self.bytes(of: log.source, from: length), !bytes.isEmpty {
                try Self.append(bytes, to: file)
                length += Int64(bytes.count)
                if request.logCap > 0, length > request.logCap { try file.trim(keeping: request.logCap) }
            }
        }
        guard isLast, let last = logs.last, let words = try Self.bytes(of: paths.stepLog, from: 0) else { return }
        try Self.append(words, to: LogFile(last.path, descriptor: nil, isOwnershipTaken: false))
    }

    private static func bytes(of path: String, from offset: Int64) throws(SystemError) -> [UInt8]? {
        guard let file = try ReadableFile.open(path) else { return nil }
        return try file.read(at: offset, count: 1 << 20)
    }

    private static func append(_ bytes: [UInt8], to file: LogFile) throws(SystemError) {
        guard !bytes.isEmpty else { return }
        let log = try file.openForAppending()
        guard try log.writeAll(bytes) else { throw SystemError("write log", errno: EPIPE) }
    }
}

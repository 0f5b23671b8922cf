internal import Glibc
internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// The log of an attempt, a copy of the files in the spool that the job writes.
struct AttemptLog {
    let request: LaunchRequest
    let spool: AttemptSpool

    /// Most bytes that are copied in one go: other attempts of the user wait for it.
    private static let portion: Int64 = 64 << 20
    private static let bufferSize = 1 << 20

    private var files: [(source: String, path: String)] {
        switch request.output {
        case .log(let path): [(RunFile.output, path)]
        case .split(let stdout, let stderr): [(RunFile.output, stdout), (RunFile.errors, stderr)]
        case .paths, .journal, .null: []
        }
    }

    /// Makes the files that opsd reads, unless an earlier process has. The user does not own them, since only opsd-slurm
    /// writes to them.
    func make() throws(SystemError) {
        for (_, path) in files where !Files.exists(path) {
            try Files.remove(LogTimes.path(of: path))
            _ = try LogFile.create(path, owner: nil)
        }
    }

    /// Copies new output. Returns false if more is left for the next time.
    func copy() throws(SystemError) -> Bool {
        guard let run = try spool.run() else { return true }
        var isComplete = true
        for (source, path) in files {
            guard let output = try run.file(source) else { continue }
            if try !copy(output, to: LogFile(path, descriptor: nil, isOwnershipTaken: false)) { isComplete = false }
        }
        return isComplete
    }

    private func copy(_ source: borrowing ReadableFile, to log: LogFile) throws(SystemError) -> Bool {
        guard let start = try log.size()?.length else { return true }
        var length = start
        var copied: Int64 = 0
        let end = try source.size
        let lastWrite = try source.lastWrite
        defer { if length > start { Self.note(length, writtenBy: lastWrite, path: log.path) } }
        while length < end {
            if copied >= Self.portion { return false }
            // A hole costs its user nothing; here it shall not cost space either, nor time.
            let data = min(try source.nextData(from: length), end)
            if data > length {
                try log.extend(to: data)
                length = data
                continue
            }
            let bytes = try source.read(at: length, count: Self.bufferSize)
            guard !bytes.isEmpty else { break }
            try Self.append(bytes, to: log)
            length += Int64(bytes.count)
            copied += Int64(bytes.count)
            if request.logCap > 0, length > request.logCap { try log.trim(keeping: request.logCap) }
        }
        return true
    }

    /// Copies the rest of the output of a job that has ended. Adds the messages of Slurm and opsd-step, unless an
    /// earlier process has.
    func complete() throws(SystemError) {
        _ = try copy()
        guard let path = files.last?.path, let run = try spool.run(), let messages = try run.file(RunFile.stepLog)
        else { return }
        let bytes = try messages.read(at: 0, count: Self.bufferSize)
        guard !bytes.isEmpty, try Self.end(of: path, count: bytes.count) != bytes else { return }
        let lastWrite = try messages.lastWrite
        let log = LogFile(path, descriptor: nil, isOwnershipTaken: false)
        try Self.append(bytes, to: log)
        if let length = try log.size()?.length { Self.note(length, writtenBy: lastWrite, path: path) }
    }

    /// Notes when the bytes of a log below a length were written, which may be long before they are copied. After an
    /// error the log has them without their time.
    private static func note(_ length: Int64, writtenBy instant: WallInstant, path: String) {
        let time = LogTime(at: max(.zero, min(instant, Clock.read().wall)), length: length)
        _ = AttemptSpool.logErrors { () throws(SystemError) -> Void in try LogTimes.note(time, log: path) }
    }

    /// Returns the last bytes of a file.
    private static func end(of path: String, count: Int) throws(SystemError) -> [UInt8] {
        guard let file = try ReadableFile.open(path) else { return [] }
        return try file.read(at: max(file.size - Int64(count), 0), count: count)
    }

    private static func append(_ bytes: [UInt8], to file: LogFile) throws(SystemError) {
        let log = try file.openForAppending()
        guard try log.writeAll(bytes) else { throw SystemError("write log", errno: EPIPE) }
    }
}

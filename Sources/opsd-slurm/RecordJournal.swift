internal import Glibc
internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// Launches and records of all attempts, in one file of the spool. The changes of a turn are brought to the disk together,
/// before the turn has an effect that Slurm or opsd can see: a sync takes the same time for one change as for hundreds.
/// After an error the file may end with half an entry, and nothing may be added: the next process reads the file up to
/// there and replaces it.
final class RecordJournal {
    private let path: String
    private var file: Descriptor
    /// Entries that are not in the file.
    private var added: [UInt8] = []
    /// Bytes in the file, and their number from which on the file is written again without outdated entries.
    private var size: Int
    private var limit: Int

    private static let smallestLimit = 16 << 20
    /// Bytes that are read at once: more than the longest entry, a launch with the longest frame of the protocol.
    private static let portion = 128 << 20

    /// Reads the facts about each attempt that was not removed. The file may be much longer than these facts.
    static func read(_ path: String) throws(SystemError) -> [AttemptID: RecordEntries.Facts] {
        guard let file = try ReadableFile.open(path) else { return [:] }
        var entries = RecordEntries()
        var offset: Int64 = 0
        while true {
            let count = entries.add(try file.read(at: offset, count: portion))
            guard count > 0 else { return entries.facts }
            offset += Int64(count)
        }
    }

    /// Replaces the file by one with these attempts.
    init(_ path: String, _ attempts: some Sequence<SlurmAttempt>) throws(SystemError) {
        self.path = path
        let bytes = Self.bytes(attempts)
        file = try Self.replace(path, bytes)
        size = bytes.count
        limit = Self.limit(size)
    }

    private static func bytes(_ attempts: some Sequence<SlurmAttempt>) -> [UInt8] {
        attempts.flatMap { attempt in
            RecordEntries.bytes(attempt.attempt, launch: SpooledLaunch.bytes(attempt.request))
                + RecordEntries.bytes(attempt.attempt, record: attempt.tracker.record)
        }
    }

    private static func replace(_ path: String, _ bytes: [UInt8]) throws(SystemError) -> Descriptor {
        try Files.replace(path, with: bytes, mode: 0o600)
        let number = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { throw SystemError("open \(path)", errno: errno) }
        return Descriptor(owning: number)
    }

    private static func limit(_ size: Int) -> Int { max(2 * size, smallestLimit) }

    func add(_ attempt: AttemptID, _ record: JobRecord) {
        added += RecordEntries.bytes(attempt, record: record)
    }

    func add(_ request: LaunchRequest) {
        added += RecordEntries.bytes(request.attempt, launch: SpooledLaunch.bytes(request))
    }

    func add(gone attempt: AttemptID) { added += RecordEntries.bytes(gone: attempt) }

    /// Brings all added entries to the disk. `attempts`: all that are still needed.
    func commit(_ attempts: some Sequence<SlurmAttempt>) throws(SystemError) {
        guard !added.isEmpty else { return }
        if size + added.count > limit {
            let bytes = Self.bytes(attempts)
            file = try Self.replace(path, bytes)
            size = bytes.count
            limit = Self.limit(size)
        } else {
            guard try file.writeAll(added) else { throw SystemError("write \(path)", errno: EPIPE) }
            guard fdatasync(file.rawValue) == 0 else { throw SystemError("sync \(path)", errno: errno) }
            size += added.count
        }
        added = []
    }
}

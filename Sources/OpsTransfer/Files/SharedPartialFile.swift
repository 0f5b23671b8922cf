internal import Glibc
internal import OpsSystem
internal import Synchronization

/// Changes of a partial file that have not been made yet.
struct FileWrites: Sendable {
    enum Start: Hashable, Sendable {
        /// The bytes begin with the last one on disk.
        case lastByte
        /// The bytes are the beginning of the file, of the version of the record.
        case firstByte(ResumeRecord?)
    }
    var start: Start?
    var bytes: [UInt8] = []
    var isEmpty: Bool { start == nil && bytes.isEmpty }
}

/// The result of a job on a partial file.
struct FileState: Sendable {
    enum Outcome: Hashable, Sendable {
        case written
        /// The repeated byte differs from the one on disk.
        case hasChanged
        /// The checksum needs more slices.
        case isUnverified
        case hasWrongChecksum(Checksum)
        case isInPlace
    }
    var outcome = Outcome.written
    /// Number of bytes on disk.
    var size: Int64
    var record: ResumeRecord?
}

/// The partial file of a download, which the jobs of one queue use one after the other.
final class SharedPartialFile: Sendable {
    private let file = Mutex<PartialFile?>(nil)

    private static let notOpen = SystemError("use a partial file that is not open", errno: EBADF)

    private func use<T: Sendable>(_ body: (PartialFile) throws(SystemError) -> T) throws(Failure) -> T {
        do throws(SystemError) {
            return try file.withLock { file throws(SystemError) in
                guard let file else { throw Self.notOpen }
                return try body(file)
            }
        } catch {
            throw Failure(error)
        }
    }

    /// Opens the partial file beside a target.
    func open(_ target: String, _ directories: DirectoryCache) throws(Failure) -> FileState {
        try file.withLock { file throws(Failure) in
            let opened = try PartialFile(target: target, directories)
            let state = FileState(size: opened.size, record: opened.record)
            file = opened
            return state
        }
    }

    func write(_ writes: FileWrites) throws(Failure) -> FileState {
        try use { file throws(SystemError) in
            FileState(outcome: try file.apply(writes) ? .written : .hasChanged, size: file.size)
        }
    }

    /// Writes the last bytes, compares the checksum and puts the file in place, in several steps. Nil: a step follows.
    func complete(_ writes: FileWrites, step: Int, checksum: Checksum?, umask: UInt32) throws(Failure) -> FileState? {
        if step == 1 {
            try file.withLock { file throws(Failure) in
                guard let file else { throw Failure(Self.notOpen) }
                try file.replaceTarget(umask: umask)
            }
            return nil
        }
        let state = try use { file throws(SystemError) -> FileState? in
            guard step == 0 else {
                try file.syncName()
                return FileState(outcome: .isInPlace, size: file.size)
            }
            let outcome = try file.writeAndVerify(writes, checksum)
            guard outcome == .isInPlace else { return FileState(outcome: outcome, size: file.size) }
            file.startWriting()
            return nil
        }
        // Here and not in the loop: to close a file can take long.
        if state?.outcome == .isInPlace { file.withLock { $0 = nil } }
        return state
    }

    /// Closes the partial file. Keeps it if a later attempt can resume it and `keeping` is true, else removes it.
    func close(_ writes: FileWrites, keeping: Bool) throws(Failure) {
        guard file.withLock({ $0 != nil }) else { return }
        defer { file.withLock { $0 = nil } }
        try use { file throws(SystemError) in
            guard keeping else { return try file.discard() }
            do throws(SystemError) {
                _ = try file.apply(writes)
            } catch {
                // The bytes on disk can be kept nevertheless.
                try file.close()
                throw error
            }
            try file.close()
        }
    }
}

extension PartialFile {
    /// Returns false if the repeated byte differs.
    fileprivate func apply(_ writes: FileWrites) throws(SystemError) -> Bool {
        switch writes.start {
        case .lastByte?: try continueFromLastByte()
        case .firstByte(let record)?: try startAgain(record)
        case nil: break
        }
        return try append(writes.bytes)
    }

    /// Returns `isInPlace` if the file may be put in place.
    fileprivate func writeAndVerify(
        _ writes: FileWrites, _ checksum: Checksum?
    ) throws(SystemError) -> FileState.Outcome {
        guard try apply(writes) else { return .hasChanged }
        guard let checksum else { return .isInPlace }
        guard let found = try verifySlice() else { return .isUnverified }
        return found == checksum ? .isInPlace : .hasWrongChecksum(found)
    }
}

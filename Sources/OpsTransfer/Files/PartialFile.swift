internal import COpsTransfer
internal import Glibc
internal import OpsSystem

/// The content of a file that is being fetched, stored beside its target: `.NAME.part`, and `.NAME.part.state` for a later
/// attempt. The process that has it open holds its lock.
///
/// Whenever the process or the machine stops, one of these is true: there is no record, and the bytes
/// are not used again; or the first `synced` bytes belong to the record, and all bytes do while the same kernel runs.
final class PartialFile {
    private let directory: TargetDirectory
    private let name: String
    private let file: Descriptor
    /// Number of valid bytes of the file.
    private(set) var size: Int64 = 0
    /// The version that the bytes belong to; nil: they cannot be resumed.
    private(set) var record: ResumeRecord?
    /// Size at which the record is stored next. A small file never needs one.
    private var nextCheckpoint = PartialFile.firstCheckpoint
    /// True if the next byte repeats the last one of `size`.
    private var isOverlapping = false
    /// True if this object has created the file, and has written nothing into it.
    private var isFresh: Bool
    /// True if there can be a record on disk.
    private var mayHaveRecord = true
    /// Number of the change by which the file got the name of the target; nil: it has not got it.
    private var change: Int?
    private var verification: Verification?
    /// True if the names are gone. Another process may have given them to files of its own since.
    private var isDiscarded = false

    /// Longest name of a target, in bytes: that of `freshRecordName` has 255, the most that file systems allow.
    private static let longestName = 239
    /// Most bytes that are continued if the length is not known. Users can make longer sparse files.
    private static let mostKept: Int64 = 1 << 62
    static let firstCheckpoint: Int64 = 262_144
    static let checkpointDistance: Int64 = 67_108_864

    private var partName: String { ".\(name).part" }
    private var recordName: String { ".\(name).part.state" }
    private var freshRecordName: String { recordName + ".new" }

    /// Opens the partial file beside a target, under its lock.
    init(target: String, _ directories: DirectoryCache = DirectoryCache()) throws(Failure) {
        let slash = target.lastIndex(of: "/")
        let name = slash.map { String(target[target.index(after: $0)...]) } ?? target
        guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(0) else {
            throw Failure(.usage, "\(target): not the name of a file")
        }
        guard name.utf8.count <= PartialFile.longestName else {
            throw Failure(.usage, "\(target): the name has more than \(PartialFile.longestName) bytes")
        }
        self.name = name
        do throws(SystemError) {
            let path = slash.map { $0 == target.startIndex ? "/" : String(target[..<$0]) } ?? "."
            directory = try directories.open(path)
        } catch {
            throw Failure(error)
        }
        _ = try PartialFile.status(ofTarget: name, in: directory)
        do throws(SystemError) {
            guard let opened = try PartialFile.openLocked(".\(name).part", in: directory) else {
                throw SystemError("lock \(target): another process is downloading it", errno: EAGAIN)
            }
            isFresh = opened.isNew
            file = Descriptor(owning: opened.number)
        } catch {
            throw Failure(error)
        }
        do throws(SystemError) {
            if !isFresh { try load() }
        } catch {
            throw Failure(error)
        }
    }

    deinit {
        // A process that this one is starting has a copy of the descriptor until it runs its program: the end of this
        // descriptor alone would leave the lock to it.
        flock(file.rawValue, LOCK_UN)
    }

    /// Returns the status of the file that has the name of the target, if there is one. Refuses all but a regular file.
    private static func status(ofTarget name: String, in directory: TargetDirectory) throws(Failure) -> stat? {
        let found: stat?
        do throws(SystemError) {
            found = try directory.status(of: name)
        } catch {
            throw Failure(error)
        }
        guard let status = found, status.st_mode & S_IFMT != S_IFREG else { return found }
        let kind =
            switch status.st_mode & S_IFMT {
            case S_IFDIR: "a directory"
            case S_IFLNK: "a symbolic link"
            default: "not a regular file"
            }
        throw Failure(
            .usage, "\(directory.shown(name)) is \(kind), and only a regular file is replaced; give another path")
    }

    /// Opens the file and locks it. Nil: another process has locked it.
    ///
    /// Replaces a file that others may write to or that is read-only: a process that was killed just before the rename
    /// has given it the permissions of the target.
    private static func openLocked(
        _ name: String, in directory: TargetDirectory
    ) throws(SystemError) -> (number: Int32, isNew: Bool)? {
        while true {
            var isNew = true
            var opened = try directory.create(name)
            if opened == nil {
                isNew = false
                opened = try openExisting(name, in: directory)
            }
            // It was removed between the two calls.
            guard let file = opened.take() else { continue }
            let number = file.rawValue
            do throws(SystemError) {
                try retrying("lock \(directory.shown(name))") { flock(number, LOCK_EX | LOCK_NB) }
            } catch {
                if error.errno == EWOULDBLOCK { return nil }
                throw error
            }
            // The process that had the lock before may have finished: then this is its target by now.
            let held = try directory.status(file, name)
            guard let named = try directory.status(of: name), named.st_ino == held.st_ino, named.st_dev == held.st_dev
            else { continue }
            let isUsable = held.st_mode & 0o022 == 0 && held.st_mode & 0o200 != 0
            if isNew || isUsable { return (file.release(), isNew) }
            try directory.remove(name)
        }
    }

    /// Opens the file of an earlier process: for reading only, which is enough for its lock, if it is read-only.
    private static func openExisting(
        _ name: String, in directory: TargetDirectory
    ) throws(SystemError) -> Descriptor? {
        do throws(SystemError) {
            return try directory.open(name, O_RDWR)
        } catch {
            guard error.errno == EACCES else { throw error }
            return try directory.open(name, O_RDONLY)
        }
    }

    private func load() throws(SystemError) {
        let found = try directory.status(file, partName)
        // A process that was killed while it stored a record has left this.
        try directory.remove(freshRecordName)
        guard let stored = try directory.open(recordName, O_RDONLY) else { return }
        // Other users could have changed such a record.
        guard try directory.status(stored, recordName).st_mode & 0o022 == 0 else { return }
        var bytes: [UInt8] = []
        while bytes.count <= ResumeRecord.sizeLimit, case .moved = try stored.read(atMost: 65_536, onto: &bytes) {}
        guard let record = ResumeRecord(bytes: bytes) else { return }
        let written = Int64(found.st_size)
        let isSameBoot = !record.boot.isEmpty && record.boot == ResumeRecord.currentBoot()
        let kept = isSameBoot ? written : min(written, record.synced)
        guard written >= record.synced, kept > 0, kept <= min(record.length ?? .max, PartialFile.mostKept)
        else { return }
        self.record = record
        // Bytes that are not sure to be right must not count as written by this run of the kernel.
        try truncate(kept)
    }

    /// Drops all bytes: the next one is the first of the file. A nil version has no strong validator.
    func startAgain(_ record: ResumeRecord?) throws(SystemError) {
        try removeRecord()
        verification = nil
        if size > 0 || !isFresh { try truncate(0) }
        isFresh = false
        self.record = record
        nextCheckpoint = PartialFile.firstCheckpoint
        isOverlapping = false
    }

    /// Removes the old record. It must be gone, even after a power cut, before there is a byte that it does not describe.
    private func removeRecord() throws(SystemError) {
        if mayHaveRecord, try directory.remove(recordName) { try directory.sync(directory.noteChange()) }
        mayHaveRecord = false
    }

    /// Expects the last byte again, which is compared, and then the rest.
    func continueFromLastByte() throws(SystemError) {
        try truncate(size)
        nextCheckpoint = size + PartialFile.checkpointDistance
        isOverlapping = true
    }

    private func truncate(_ length: Int64) throws(SystemError) {
        let number = file.rawValue
        try retrying("truncate \(directory.shown(partName))") { ftruncate(number, Int(length)) }
        size = length
    }

    /// Appends bytes. Returns false if the repeated byte differs from the one that is stored.
    func append(_ bytes: [UInt8]) throws(SystemError) -> Bool {
        var done = 0
        let number = file.rawValue
        if isOverlapping, let first = bytes.first {
            var last: UInt8 = 0
            let offset = Int(size - 1)
            let count = try retrying("read \(directory.shown(partName))") { unsafe pread(number, &last, 1, offset) }
            guard count == 1, last == first else { return false }
            isOverlapping = false
            done = 1
        }
        while done < bytes.count {
            let offset = Int(size)
            let count = try retrying("write \(directory.shown(partName))") {
                unsafe bytes[done...].withUnsafeBytes { unsafe pwrite(number, $0.baseAddress, $0.count, offset) }
            }
            size += Int64(count)
            done += count
        }
        if record != nil && size >= nextCheckpoint { try checkpoint() }
        return true
    }

    /// Syncs the bytes, then stores the record for them. A file that was changed or replaced is given up.
    func checkpoint() throws(SystemError) {
        guard var record, size > 0 else { return }
        try sync(fdatasync)
        guard try isUnchanged() else { return try abandon() }
        record.synced = size
        record.boot = ResumeRecord.currentBoot()
        let fresh = freshRecordName
        mayHaveRecord = true
        try directory.remove(fresh)
        do {
            guard let stored = try directory.open(fresh, O_WRONLY | O_CREAT | O_EXCL) else { return }
            guard try stored.writeAll(record.bytes) else {
                throw SystemError("write \(directory.shown(fresh))", errno: EPIPE)
            }
            let number = stored.rawValue
            try retrying("sync \(directory.shown(fresh))") { fsync(number) }
        }
        try directory.rename(fresh, to: recordName)
        try directory.sync(directory.noteChange())
        self.record = record
        nextCheckpoint = size + PartialFile.checkpointDistance
    }

    /// Syncs the bytes. If that fails, removes the file: the kernel reports bytes that it could not write only once, and
    /// forgets them.
    private func sync(_ call: (Int32) -> Int32) throws(SystemError) {
        let number = file.rawValue
        do throws(SystemError) {
            try retrying("sync \(directory.shown(partName))") { call(number) }
        } catch {
            try discard()
            throw error
        }
    }

    /// Checksum of the file that is being computed.
    private struct Verification {
        var digest = SHA256()
        var offset: Int64 = 0
        static let sliceSize = 1_048_576
    }

    /// Reads the next slice of the file for its checksum. Returns the checksum after the last one.
    func verifySlice() throws(SystemError) -> Checksum? {
        // In place: a copy of the digest would be copied again.
        var slice = verification ?? Verification()
        verification = nil
        let number = file.rawValue
        let offset = slice.offset
        let wanted = Int(min(size - offset, Int64(Verification.sliceSize)))
        if wanted > 0 {
            var buffer = [UInt8](repeating: 0, count: wanted)
            let count = try retrying("read \(directory.shown(partName))") {
                unsafe pread(number, &buffer, wanted, Int(offset))
            }
            guard count > 0 else { throw SystemError("read \(directory.shown(partName))", errno: EIO) }
            slice.digest.add(count == wanted ? buffer : Array(buffer[..<count]))
            slice.offset += Int64(count)
        }
        if slice.offset == size { return slice.digest.end() }
        verification = slice
        return nil
    }

    /// Lets the kernel write the bytes to the disk, without waiting for it: `replaceTarget` syncs them.
    func startWriting() { ops_start_writing(file.rawValue) }

    /// Syncs the file and renames it to the target. It gets the permissions of the file that it replaces; a new file gets
    /// those that `umask` allows. A file that was changed or replaced meanwhile is given up.
    func replaceTarget(umask: UInt32) throws(Failure) {
        do throws(SystemError) {
            try sync(fsync)
        } catch {
            throw Failure(error)
        }
        let found = try PartialFile.status(ofTarget: name, in: directory)
        do throws(SystemError) {
            let number = file.rawValue
            let mode = found.map { $0.st_mode & 0o777 } ?? 0o666 & ~umask
            // After the long sync, because a partial file with these permissions may be replaced. The second sync is short.
            try retrying("chmod \(directory.shown(partName))") { fchmod(number, mode) }
            try sync(fsync)
            if try isUnchanged() {
                try directory.rename(partName, to: name)
                change = directory.noteChange()
            } else {
                try abandon()
            }
        } catch {
            throw Failure(error)
        }
        guard change == nil else { return }
        throw Failure(
            .retryable,
            "\(directory.shown(partName)) was changed or replaced during the download; the next attempt starts again")
    }

    /// Returns whether the name still belongs to this file, and its size is that of the bytes written here.
    private func isUnchanged() throws(SystemError) -> Bool {
        let held = try directory.status(file, partName)
        guard let named = try directory.status(of: partName) else { return false }
        return named.st_dev == held.st_dev && named.st_ino == held.st_ino && Int64(held.st_size) == size
    }

    /// Gives up a file that was changed or replaced. Without its record no byte of it is used again.
    private func abandon() throws(SystemError) {
        try removeRecord()
        record = nil
        isDiscarded = true
        let held = try directory.status(file, partName)
        guard let named = try directory.status(of: partName) else { return }
        let isOwn = named.st_dev == held.st_dev && named.st_ino == held.st_ino
        // A regular file may belong to another download by now. Anything else would block the next attempt, which says
        // so if it cannot be removed, as a directory.
        if isOwn || named.st_mode & S_IFMT != S_IFREG { _ = try? directory.remove(partName) }
    }

    /// Makes the new name of the file survive a power cut.
    func syncName() throws(SystemError) {
        guard let change else { return }
        try directory.sync(change)
        if mayHaveRecord { try directory.remove(recordName) }
    }

    func discard() throws(SystemError) {
        guard change == nil, !isDiscarded else { return }
        try directory.remove(freshRecordName)
        try directory.remove(recordName)
        try directory.remove(partName)
        record = nil
        isDiscarded = true
    }

    /// Keeps the partial file if a later attempt can resume it, else removes it.
    func close() throws(SystemError) {
        guard record != nil, size > 0, change == nil else { return try discard() }
        do throws(SystemError) {
            try checkpoint()
        } catch {
            // Without a record on disk the bytes are of no use, and the disk may be full of them.
            try directory.remove(freshRecordName)
            guard try directory.status(of: recordName) == nil else { return }
            try discard()
        }
    }
}

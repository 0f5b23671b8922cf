internal import OpsExecutor
internal import OpsSystem

/// Logs that processes may write to, on disk: a runner that follows a killed one finds there what it has to bound. The
/// processes of an attempt that was executing are killed, but others may hold its log open.
struct LogJournal {
    /// A file of a log.
    struct Entry: Equatable {
        var attempt: AttemptID
        var cap: Int64
        var uid: UInt32
        /// True if the attempt has ended and processes of it may be left.
        var hasLeftovers: Bool
        /// Identity of the file: another one may get its name.
        var inode: UInt64
        var path: String
    }
    static let fileName = "runner.logs"
    /// Number of lines up to which the file keeps those that no longer matter.
    private static let most = 1000
    /// Room for more logs than a runner can hold open.
    private static let largest = 64 << 20

    private let file: LineJournal

    /// Returns the journal and what the runner before this one has noted; the last entry of each file counts.
    static func open(in directory: String) throws(SystemError) -> (journal: LogJournal, entries: [Entry]) {
        let (file, lines) = try LineJournal.open(directory + "/" + fileName, limit: largest)
        var entries: [String: Entry] = [:]
        for entry in lines.compactMap(Entry.init) { entries[entry.path] = entry }
        return (LogJournal(file: file), entries.values.sorted { $0.path < $1.path })
    }

    func note(_ entries: [Entry]) throws(SystemError) {
        for entry in entries where !entry.path.contains("\n") { try file.append(entry.line) }
    }

    /// Returns true if most lines no longer matter, because there are only `logs` logs.
    func isLong(for logs: Int) -> Bool { file.count > max(LogJournal.most, 4 * logs) }

    func replace(by entries: [Entry]) throws(SystemError) {
        try file.replace(by: entries.filter { !$0.path.contains("\n") }.map(\.line))
    }
}

extension LogJournal.Entry {
    fileprivate var line: String {
        "\(attempt.operation.rawValue) \(attempt.number) \(cap) \(uid) \(hasLeftovers ? 1 : 0) \(inode) \(path)"
    }

    fileprivate init?(_ line: String) {
        let words = line.split(separator: " ", maxSplits: 6, omittingEmptySubsequences: false)
        guard words.count == 7, let operation = Int64(words[0]), let number = Int32(words[1]),
            let cap = Int64(words[2]), cap > 0,
            let uid = UInt32(words[3]), let leftovers = Int(words[4]), let inode = UInt64(words[5])
        else { return nil }
        self.init(
            attempt: AttemptID(OperationID(operation), number), cap: cap, uid: uid, hasLeftovers: leftovers != 0,
            inode: inode, path: String(words[6]))
    }
}

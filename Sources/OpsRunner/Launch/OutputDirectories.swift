internal import OpsExecutor
internal import OpsSystem

/// An empty directory for each attempt, `OPS_OUTPUT_DIR`, that its user owns.
///
/// Most operations leave nothing in it. Such a directory becomes that of a later attempt of the same user: a rename
/// costs much less than a removal and a new directory.
struct OutputDirectories {
    struct Directory: Equatable {
        let path: String
        let uid: UInt32
    }

    private var used: [AttemptID: Directory] = [:]
    private var empty: [UInt32: [String]] = [:]
    private var emptyCount = 0
    /// The directory above that was made last: neighbours share it.
    private var made = ""
    private static let mostEmpty = 64

    /// Makes the directory of an attempt. `owner`: nil for the user of this process.
    mutating func make(
        _ path: String, for attempt: AttemptID, owner: (uid: UInt32, gid: UInt32)?
    ) throws(SystemError) {
        let uid = owner?.uid ?? Identity.uid
        if let slash = path.lastIndex(of: "/"), path[..<slash] != made {
            made = String(path[..<slash])
            try Files.makeTraversableDirectories(made)
        }
        while let spare = empty[uid]?.popLast() {
            emptyCount -= 1
            do throws(SystemError) {
                try Files.move(spare, to: path)
                used[attempt] = Directory(path: path, uid: uid)
                return
            } catch {
                // Removed with its operation.
                guard error.errno == SystemError.noSuchFile else { throw error }
            }
        }
        try UnusedDirectory.make(path, owner: owner)
        used[attempt] = Directory(path: path, uid: uid)
    }

    /// Returns true if the attempt has left something in its directory. Otherwise a later attempt gets it.
    mutating func release(_ attempt: AttemptID, hasLeftovers: Bool) throws(SystemError) -> Bool {
        guard let directory = used.removeValue(forKey: attempt) else { return false }
        if !hasLeftovers, emptyCount < Self.mostEmpty, try UnusedDirectory.isUnused(directory.path) {
            empty[directory.uid, default: []].append(directory.path)
            emptyCount += 1
            return false
        }
        return try !Files.removeDirectoryIfEmpty(directory.path)
    }

    /// Removes unused directories.
    mutating func removeEmpty() throws(SystemError) {
        for path in empty.values.joined() { _ = try Files.removeDirectoryIfEmpty(path) }
        empty = [:]
        emptyCount = 0
    }

    // MARK: Re-execution

    var all: [(attempt: AttemptID, directory: Directory)] { used.map { ($0.key, $0.value) } }

    mutating func restore(_ attempt: AttemptID, _ directory: Directory) { used[attempt] = directory }
}

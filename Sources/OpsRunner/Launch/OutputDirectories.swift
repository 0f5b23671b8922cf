internal import OpsExecutor
internal import OpsSystem

/// An empty directory for each attempt, `OPS_OUTPUT_DIR`, that its user owns.
///
/// Most operations leave nothing in it. Such a directory becomes that of a later attempt of the same user: a rename
/// costs much less than a removal and a new directory.
///
/// Another user can hold the lock of their directory for any time, by a process that lists it into memory which never
/// arrives (a mapped file of a FUSE mount). So the runner only looks at the times of such a directory, and renames it
/// within the directory above it: neither takes the lock. opsd removes it together with its operation.
struct OutputDirectories {
    struct Directory: Equatable {
        let path: String
        let uid: UInt32
        /// Last change when the attempt began, if another user owns the directory.
        var change: UnusedDirectory.Change?

        var isForeign: Bool { uid != Identity.uid }
    }

    /// Directories of another user that can take each other's place.
    private struct Siblings: Hashable {
        let uid: UInt32
        let parent: String
    }

    private var used: [AttemptID: Directory] = [:]
    /// Unused directories of this process's user.
    private var empty: [String] = []
    /// Unused directories of other users.
    private var foreign: [Siblings: [String]] = [:]
    private var foreignCount = 0
    /// The directory above that was made last: neighbours share it.
    private var made = ""
    /// Most unused directories of this process's user, and most of all other users.
    private static let mostEmpty = 64

    /// Makes the directory of an attempt. `owner`: nil for the user of this process.
    mutating func make(
        _ path: String, for attempt: AttemptID, owner: (uid: UInt32, gid: UInt32)?
    ) throws(SystemError) {
        let directory = Directory(path: path, uid: owner?.uid ?? Identity.uid)
        try makeParent(of: path)
        // The name belongs to an attempt again: the directory may be gone, or from before the database was replaced.
        forget(path)
        do throws(SystemError) {
            if try !reuseEmpty(as: directory) { try UnusedDirectory.make(path, owner: owner) }
        } catch {
            guard error.errno == SystemError.noSuchFile else { throw error }
            // The directory above was removed.
            made = ""
            try makeParent(of: path)
            try UnusedDirectory.make(path, owner: owner)
        }
        try begin(attempt, directory)
    }

    private mutating func makeParent(of path: String) throws(SystemError) {
        let parent = Self.parent(of: path)
        if parent == made { return }
        try Files.makeTraversableDirectories(parent)
        made = parent
    }

    private static func parent(of path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    /// Renames an unused directory. Returns false if there is none.
    private mutating func reuseEmpty(as directory: Directory) throws(SystemError) -> Bool {
        while let spare = popEmpty(for: directory) {
            do throws(SystemError) {
                while try !Files.move(spare, toNew: directory.path) {
                    try UnusedDirectory.moveAside(directory.path)
                }
                return true
            } catch {
                // Removed with its operation.
                guard error.errno == SystemError.noSuchFile else { throw error }
            }
        }
        return false
    }

    /// Forgets an unused directory, if there is one of this name.
    private mutating func forget(_ path: String) {
        empty.removeAll { $0 == path }
        for (siblings, paths) in foreign where paths.contains(path) {
            let rest = paths.filter { $0 != path }
            foreign[siblings] = rest.isEmpty ? nil : rest
            foreignCount -= paths.count - rest.count
        }
    }

    private mutating func popEmpty(for directory: Directory) -> String? {
        guard directory.isForeign else { return empty.popLast() }
        let siblings = Siblings(uid: directory.uid, parent: Self.parent(of: directory.path))
        guard let spare = foreign[siblings]?.popLast() else { return nil }
        if foreign[siblings]?.isEmpty == true { foreign[siblings] = nil }
        foreignCount -= 1
        return spare
    }

    private mutating func begin(_ attempt: AttemptID, _ directory: Directory) throws(SystemError) {
        var directory = directory
        if directory.isForeign { directory.change = try UnusedDirectory.lastChange(of: directory.path) }
        used[attempt] = directory
    }

    /// Returns true if the attempt has left something in its directory; in that of another user, also if it has removed
    /// again what it made there. Otherwise a later attempt gets it.
    mutating func release(_ attempt: AttemptID, hasLeftovers: Bool) throws(SystemError) -> Bool {
        guard let directory = used.removeValue(forKey: attempt) else { return false }
        if directory.isForeign { return try releaseForeign(directory, hasLeftovers: hasLeftovers) }
        if !hasLeftovers, empty.count < Self.mostEmpty, try UnusedDirectory.isUnused(directory.path) {
            empty.append(directory.path)
            return false
        }
        return try !Files.removeDirectoryIfEmpty(directory.path)
    }

    private mutating func releaseForeign(_ directory: Directory, hasLeftovers: Bool) throws(SystemError) -> Bool {
        guard let change = try UnusedDirectory.lastChange(of: directory.path), change == directory.change else {
            return true
        }
        if hasLeftovers { return false }
        // Directories of operations from long ago fit no new one.
        if foreignCount >= Self.mostEmpty { forgetForeign() }
        let siblings = Siblings(uid: directory.uid, parent: Self.parent(of: directory.path))
        foreign[siblings, default: []].append(directory.path)
        foreignCount += 1
        return false
    }

    private mutating func forgetForeign() {
        foreign = [:]
        foreignCount = 0
    }

    /// Removes the unused directories of this process's user, and forgets those of others.
    mutating func removeEmpty() throws(SystemError) {
        for path in empty { _ = try Files.removeDirectoryIfEmpty(path) }
        empty = []
        forgetForeign()
    }

    // MARK: Re-execution

    var all: [(attempt: AttemptID, directory: Directory)] { used.map { ($0.key, $0.value) } }

    /// Restores the directory of an attempt. What the attempt did before is not known, so that of another user is kept.
    mutating func restore(_ attempt: AttemptID, _ directory: Directory) { used[attempt] = directory }
}

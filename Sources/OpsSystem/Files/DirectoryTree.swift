internal import Glibc

/// A directory with everything in it, which another user may change at any time.
///
/// Every step goes through descriptors, follows no link and enters no file system that is mounted in the tree, so that
/// nothing outside of the tree is ever touched. The number of open descriptors has a bound, whatever the depth of the tree.
public struct DirectoryTree: Sendable {
    private let path: String
    /// Depth down to which directories stay open. Deeper ones are moved up to the top.
    private static let depth = 32
    /// Number of passes over the top. Each removes 32 levels, also of a tree that still grows.
    private static let mostPasses = 4096
    /// Number of names that are read at once.
    private static let batch = 16_384

    public init(_ path: String) { self.path = path }

    /// Removes the tree; does nothing if it is not there. What cannot be removed does not keep the rest.
    public func remove() throws(SystemError) {
        guard let entry = try DirectoryEntry.open(path) else { return }
        if try entry.status.st_mode & S_IFMT == S_IFDIR {
            let top = try entry.list(regainsRights: true)
            var removal = Removal(top: top.directory.rawValue)
            var passes = 0
            repeat {
                removal.hasMoved = false
                removal.empty(top, depth: 0)
                passes += 1
            } while removal.hasMoved && passes < Self.mostPasses
            if let failure = removal.failure { throw failure }
            try Files.removeDirectory(path)
        } else {
            try Files.remove(path)
        }
    }

    /// Returns the bytes of the tree on disk, of directories down to a bounded depth. The contents of a directory that
    /// its user has made unreadable count nothing.
    public func bytesOnDisk() throws(SystemError) -> Int64 {
        var sum: Int64 = 0
        do throws(SystemError) {
            guard let entry = try DirectoryEntry.open(path) else { return 0 }
            try Self.add(entry, to: &sum, depth: 0)
        } catch {
            guard Self.isUnreadable(error) else { throw error }
        }
        return sum
    }

    private static func bytes(in directory: consuming DirectoryListing, depth: Int) throws(SystemError) -> Int64 {
        var sum: Int64 = 0
        let number = directory.directory.rawValue
        try directory.forEachName { (name: [CChar]) throws(SystemError) -> Bool in
            sum = sum.clampedSum(try bytes(of: name, in: number, depth: depth))
            return true
        }
        return sum
    }

    private static func bytes(of name: [CChar], in directory: Int32, depth: Int) throws(SystemError) -> Int64 {
        var sum: Int64 = 0
        do throws(SystemError) {
            guard let entry = try DirectoryEntry.open(name, in: directory) else { return 0 }
            try add(entry, to: &sum, depth: depth)
        } catch {
            guard isUnreadable(error) else { throw error }
        }
        return sum
    }

    /// Adds the bytes of an entry, and those of its contents if it is a directory.
    private static func add(
        _ entry: borrowing DirectoryEntry, to sum: inout Int64, depth: Int
    ) throws(SystemError) {
        let status = try entry.status
        sum = sum.clampedSum(Int64(status.st_blocks).clampedProduct(512))
        guard status.st_mode & S_IFMT == S_IFDIR, depth < self.depth else { return }
        sum = sum.clampedSum(try bytes(in: try entry.list(), depth: depth + 1))
    }

    /// Returns true for a mounted file system (EXDEV), and for a directory without rights.
    private static func isUnreadable(_ error: SystemError) -> Bool {
        [EXDEV, EACCES, EPERM].contains(error.errno)
    }

    /// Work of one removal.
    private struct Removal {
        let top: Int32
        /// Directories too deep were moved up, and are removed in the next pass.
        var hasMoved = false
        /// The first failure.
        var failure: SystemError?

        mutating func empty(_ directory: borrowing DirectoryListing, depth: Int) {
            var isWhole = false
            do throws(SystemError) {
                while !isWhole {
                    let names = try directory.names(limit: DirectoryTree.batch)
                    var removed = 0
                    for name in names where remove(name, in: directory.directory.rawValue, depth: depth) {
                        removed += 1
                    }
                    // Names that could not be removed would only come again.
                    isWhole = names.count < DirectoryTree.batch || removed == 0
                }
            } catch {
                failure = failure ?? error
            }
        }

        /// Returns true if the name is gone.
        private mutating func remove(_ name: [CChar], in directory: Int32, depth: Int) -> Bool {
            do throws(SystemError) {
                if unsafe unlinkat(directory, name, 0) == 0 || errno == ENOENT { return true }
                guard errno == EISDIR || errno == EPERM else { throw .last("remove \(DirectoryEntry.text(name))") }
                if depth >= DirectoryTree.depth {
                    // A name that the user cannot have taken.
                    let moved = "." + (try Randomness.identifier())
                    if unsafe renameat(directory, name, top, moved) != 0 {
                        throw .last("move \(DirectoryEntry.text(name))")
                    }
                    hasMoved = true
                    return true
                }
                guard let child = try DirectoryEntry.open(name, in: directory) else { return true }
                empty(try child.list(regainsRights: true), depth: depth + 1)
                if unsafe unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT { return true }
                throw .last("remove \(DirectoryEntry.text(name))")
            } catch {
                failure = failure ?? error
                return false
            }
        }
    }
}

import Glibc
import TestSupport
import Testing

@testable import OpsSystem

/// Trees that another user has created and keeps changing.
@Suite struct DirectoryTreeTests {
    private let scratch = TemporaryDirectory()
    private var path: String { scratch.path + "/tree" }

    private func makeDirectory(_ path: String, mode: UInt32 = 0o700) { #expect(mkdir(path, mode) == 0) }

    @Test func `names that are no text, and names of moved directories, are removed`() throws {
        makeDirectory(path)
        let strange: [CChar] = Array(path.utf8CString.dropLast()) + [47, -1, -2, 0]
        #expect(mkdir(strange, 0o700) == 0)
        // Deeper than the number of open directories: directories are moved to the top, where their user has already
        // used the names.
        for number in 1...3 {
            makeDirectory(path + "/.\(number)")
            try Files.replace(path + "/.\(number)/file", with: [1], mode: 0o600)
        }
        var deep = path
        for level in 0..<100 {
            deep += "/\(level)"
            makeDirectory(deep)
            if level % 20 == 0 { try Files.replace(deep + "/file", with: [1], mode: 0o000) }
        }
        try DirectoryTree(path).remove()
        #expect(!Files.exists(path))
        try DirectoryTree(path).remove()
    }

    @Test func `directories without rights are removed, and count nothing`() throws {
        makeDirectory(path)
        makeDirectory(path + "/closed")
        let bytes = [UInt8](repeating: 1, count: 1 << 20)
        try Files.replace(path + "/closed/file", with: bytes, mode: 0o600)
        try Files.replace(path + "/file", with: bytes, mode: 0o600)
        #expect(chmod(path + "/closed", 0) == 0)
        let counted = try DirectoryTree(path).bytesOnDisk()
        #expect(counted >= 1 << 20)
        #expect(chmod(path, 0) == 0)
        try DirectoryTree(path).remove()
        #expect(!Files.exists(path))
    }

    @Test func `a tree without rights counts no contents, and a file in place of a tree counts itself`() throws {
        let bytes = [UInt8](repeating: 1, count: 1 << 20)
        makeDirectory(path)
        try Files.replace(path + "/file", with: bytes, mode: 0o600)
        #expect(chmod(path, 0) == 0)
        let counted = try DirectoryTree(path).bytesOnDisk()
        #expect(counted < 1 << 20 || geteuid() == 0, "root needs no rights")
        try DirectoryTree(path).remove()
        try Files.replace(path, with: bytes, mode: 0o600)
        let file = try DirectoryTree(path).bytesOnDisk()
        #expect(file >= 1 << 20)
    }

    @Test func `the names of a large directory are not all kept while it is counted`() throws {
        makeDirectory(path)
        let names = (0..<2000).map { "\(path)/\($0)-\(String(repeating: "x", count: 200))" }
        for name in names {
            let file = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
            #expect(write(file, "x", 1) == 1)
            close(file)
        }
        let counted = try DirectoryTree(path).bytesOnDisk()
        #expect(counted >= 512 * 2000)
        guard let listing = try DirectoryListing.open(path) else { throw Missing() }
        var given = 0
        try listing.forEachName { (_: [CChar]) throws(SystemError) -> Bool in
            // Names that were read before are still given.
            if given == 0 { for name in names { unlink(name) } }
            given += 1
            return true
        }
        #expect(given > 0 && given < 1000)
    }

    @Test func `a link or a file in place of the tree is removed alone`() throws {
        let other = scratch.path + "/other"
        makeDirectory(other)
        try Files.replace(other + "/file", with: [1], mode: 0o600)
        #expect(symlink(other, path) == 0)
        try DirectoryTree(path).remove()
        #expect(!Files.exists(path))
        #expect(Files.exists(other + "/file"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount"))
    func `a file system mounted in a tree is not entered`() throws {
        makeDirectory(path)
        makeDirectory(path + "/a")
        makeDirectory(path + "/mounted")
        try Files.replace(path + "/a/file", with: [1], mode: 0o600)
        try #require(mount("none", path + "/mounted", "tmpfs", 0, "size=4m") == 0)
        defer { _ = umount2(path + "/mounted", 2) }
        try Files.replace(path + "/mounted/file", with: [UInt8](repeating: 1, count: 1 << 20), mode: 0o600)
        #expect(try DirectoryTree(path).bytesOnDisk() < 1 << 20)
        #expect(throws: SystemError.self) { try DirectoryTree(path).remove() }
        #expect(Files.exists(path + "/mounted/file"))
        #expect(!Files.exists(path + "/a"), "what cannot be removed does not keep the rest")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount"))
    func `a tree on which a file system is mounted counts nothing`() throws {
        makeDirectory(path)
        try #require(mount("none", path, "tmpfs", 0, "size=4m") == 0)
        defer { _ = umount2(path, 2) }
        try Files.replace(path + "/file", with: [UInt8](repeating: 1, count: 1 << 20), mode: 0o600)
        #expect(try DirectoryTree(path).bytesOnDisk() == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount"))
    func `a directory on which something is mounted is in use`() throws {
        try UnusedDirectory.make(path, owner: nil)
        #expect(try UnusedDirectory.isUnused(path))
        try #require(mount("none", path, "tmpfs", 0, "size=4m") == 0)
        defer { _ = umount2(path, 2) }
        #expect(try !UnusedDirectory.isUnused(path))
        #expect(try UnusedDirectory.lastChange(of: path) == nil)
        #expect(try !Files.removeDirectoryIfEmpty(path))
    }
}

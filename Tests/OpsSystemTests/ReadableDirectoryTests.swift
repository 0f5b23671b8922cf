import Glibc
import OpsSystem
import TestSupport
import Testing

@Suite struct ReadableDirectoryTests {
    private let directory = TemporaryDirectory()
    private let user = getuid() + 1
    private let group = getgid() + 1

    /// Makes `outer/inner`, reachable by all but for the modes of these two.
    private func makeInner(outer: mode_t, inner: mode_t) throws -> String {
        let path = directory.path + "/outer/inner"
        chmod(directory.path, 0o755)
        try Files.makeDirectories(path, mode: 0o755)
        chmod(path, inner)
        chmod(directory.path + "/outer", outer)
        return path
    }

    private func canRead(_ path: String, _ user: UInt32, _ groups: UInt32...) -> Bool {
        ReadableDirectory.open(path, readableBy: user, groups: { groups })?.withPath { _ in true } ?? false
    }

    @Test(
        arguments: [
            (0o755, 0o755, true), (0o711, 0o755, true), (0o755, 0o711, false), (0o755, 0o700, false),
            (0o700, 0o755, false),
            (0o755, 0o744, false),
        ] as [(mode_t, mode_t, Bool)])
    func `others read a directory that they can reach, pass and list`(outer: mode_t, inner: mode_t, reads: Bool) throws
    {
        let path = try makeInner(outer: outer, inner: inner)
        #expect(canRead(path, user, group) == reads)
        #expect(canRead(path, getuid(), getgid()))
        #expect(canRead(path, 0, 0))
    }

    @Test func `the mode for the group counts for its members, and may count for others`() throws {
        let path = try makeInner(outer: 0o755, inner: 0o750)
        #expect(canRead(path, user, getgid()) && !canRead(path, user, group))
        #expect(canRead(path, user, group, getgid()))
        chmod(path, 0o705)
        #expect(!canRead(path, user, getgid()) && !canRead(path, user, group))
    }

    @Test func `a link leads to the directory that is examined`() throws {
        let path = try makeInner(outer: 0o700, inner: 0o755)
        let link = directory.path + "/link"
        #expect(symlink(path, link) == 0)
        #expect(!canRead(link, user, group) && canRead(link, getuid(), getgid()))
        try Files.replaceWithoutSync(path + "/file", with: [1], mode: 0o600)
        let names = ReadableDirectory.open(link, readableBy: getuid(), groups: { [getgid()] })?.withPath {
            try? Files.list($0)
        }
        #expect(names == ["file"])
    }

    @Test func `a file, and a name without anything, is no directory`() throws {
        let path = directory.path + "/file"
        try Files.replaceWithoutSync(path, with: [1], mode: 0o644)
        #expect(!canRead(path, getuid(), getgid()) && !canRead(path + "s", getuid(), getgid()))
    }
}

import Glibc
import OpsSystem
import OpsSystemd
import TestSupport
import Testing

@Suite struct FileTests {
    @Test func `a lock has one holder and ends with it`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/lock"
        do {
            guard let held = try FileLock.acquire(path) else { throw Missing() }
            #expect(try !canTakeLock(path))
            _ = consume held
        }
        #expect(try canTakeLock(path))
    }

    @Test func `a directory that was used is not taken for unused, whatever its time says`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/outputs"
        try UnusedDirectory.make(path, owner: nil)
        #expect(try UnusedDirectory.isUnused(path))
        let change = try UnusedDirectory.lastChange(of: path)
        #expect(try change != nil && UnusedDirectory.lastChange(of: path) == change)
        var status = stat()
        #expect(stat(path, &status) == 0)
        let times = [status.st_mtim, status.st_mtim]
        try Files.replace(path + "/file", with: [1], mode: 0o600)
        #expect(try !UnusedDirectory.isUnused(path))
        #expect(try UnusedDirectory.lastChange(of: path) == nil)
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        #expect(try !UnusedDirectory.isUnused(path))
        try Files.remove(path + "/file")
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        #expect(try UnusedDirectory.isUnused(path))
        #expect(chmod(path, 0o500) == 0)
        #expect(try !UnusedDirectory.isUnused(path))
        #expect(chmod(path, 0) == 0)
        #expect(try !UnusedDirectory.isUnused(path))
    }

    @Test func `a file or a link in the place of a directory is not taken for an unused one`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/outputs"
        #expect(try !UnusedDirectory.isUnused(path), "nothing is there")
        try UnusedDirectory.make(scratch.path + "/other", owner: nil)
        #expect(symlink("other", path) == 0)
        #expect(try !UnusedDirectory.isUnused(path))
        try Files.remove(path)
        try Files.replace(path, with: [1], mode: 0o700)
        #expect(try !UnusedDirectory.isUnused(path))
        try Files.remove(path)
        #expect(mkfifo(path, 0o700) == 0)
        #expect(try !UnusedDirectory.isUnused(path), "nobody writes to it, and nobody waits for that")
    }

    @Test func `replacing a file leaves no other file behind`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/file"
        try Files.replace(path, with: Array("old".utf8), mode: 0o600)
        try Files.replace(path, with: Array("new".utf8), mode: 0o600)
        #expect(try Files.read(path, limit: 100) == Array("new".utf8))
        #expect(try Files.list(scratch.path) == ["file"])
    }

    @Test func `reading a file is bounded`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/file"
        try Files.replace(path, with: [UInt8](repeating: 7, count: 100), mode: 0o600)
        #expect(try Files.read(path, limit: 100).count == 100)
        #expect(throws: SystemError("read \(path)", errno: EFBIG)) { try Files.read(path, limit: 99) }
        #expect(try Files.readIfPresent(scratch.path + "/none", limit: 1) == nil)
    }

    @Test func `only an ordinary file is opened at a path that another user has chosen`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/secret"
        try Files.replace(path, with: [1, 2, 3], mode: 0o600)
        #expect(try Files.readOrdinary(path, limit: 3) == [1, 2, 3])
        #expect(throws: SystemError.self) { try Files.readOrdinary(path, limit: 2) }
        #expect(symlink(path, scratch.path + "/link") == 0)
        #expect(try Files.readOrdinary(scratch.path + "/link", limit: 3) == [1, 2, 3])
        #expect(mkfifo(scratch.path + "/pipe", 0o600) == 0)
        for other in ["/pipe", ""] {
            #expect(throws: SystemError.self) { try Files.readOrdinary(scratch.path + other, limit: 3) }
        }
        for other in ["/dev/null", "/proc/self/status"] {
            #expect(throws: SystemError.self) { try Files.readOrdinary(other, limit: 4096) }
        }
    }

    @Test func `a journal keeps whole lines alone, across an end of its process within a line`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/journal"
        let (journal, none) = try LineJournal.open(path, limit: 100)
        #expect(none == [])
        try journal.append("one")
        try journal.append("two")
        #expect(journal.count == 2)
        try Files.replace(path, with: Array("one\ntwo\nthr".utf8), mode: 0o600)
        let (next, lines) = try LineJournal.open(path, limit: 100)
        #expect(lines == ["one", "two"])
        try next.append("three")
        #expect(try Files.read(path, limit: 100) == Array("one\ntwo\nthree\n".utf8))
        try next.replace(by: ["four"])
        try next.append("five")
        #expect(try next.count == 2 && LineJournal.open(path, limit: 100).lines == ["four", "five"])
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount"))
    func `a line that a full disk has cut is not joined with the next one`() throws {
        let scratch = TemporaryDirectory()
        let directory = scratch.path + "/small"
        #expect(mkdir(directory, 0o700) == 0)
        try #require(mount("none", directory, "tmpfs", 0, "size=128k") == 0)
        defer { _ = umount2(directory, 2) }
        let path = directory + "/journal"
        let journal = try LineJournal.open(path, limit: 1 << 20).journal
        try journal.append("first")
        try Files.replaceWithoutSync(directory + "/other", with: [UInt8](repeating: 0, count: 64 << 10), mode: 0o600)
        #expect(throws: SystemError.self) { try journal.append(String(repeating: "x", count: 96 << 10)) }
        #expect(journal.count == 1)
        try Files.remove(directory + "/other")
        try journal.append("second")
        try journal.append("third")
        #expect(try LineJournal.open(path, limit: 1 << 20).lines == ["first", "second", "third"])
    }

    @Test func `a directory that others may write to is refused`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/open"
        #expect(mkdir(path, 0o700) == 0)
        #expect(chmod(path, 0o777) == 0)
        #expect(throws: SystemError("directory \(path)", errno: EPERM)) { try Files.makePrivateDirectory(path) }
        #expect(chmod(path, 0o700) == 0)
        try Files.makePrivateDirectory(path)
    }
}

@Suite struct MachineTests {
    @Test func `the clocks move forward`() {
        let first = Clock.read()
        let second = Clock.read()
        #expect(second.monotonic >= first.monotonic)
        // 2020: the wall clock is set.
        #expect(first.wall > .zero + .seconds(1_577_836_800))
    }

    /// A client of NFS asks its server for new files only then.
    @Test func `a refreshed directory of a user is opened for reading`() throws {
        let scratch = TemporaryDirectory()
        let watch = Descriptor(owning: inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)))
        let added = inotify_add_watch(watch.rawValue, scratch.path, UInt32(IN_OPEN))
        try #require(added >= 0)
        guard let directory = try ForeignDirectory.open(scratch.path, of: getuid()) else { throw Missing() }
        var events: [UInt8] = []
        _ = try watch.read(atMost: 4096, onto: &events)
        #expect(events.isEmpty, "a reference does not count")
        directory.refresh()
        _ = try watch.read(atMost: 4096, onto: &events)
        #expect(!events.isEmpty)
    }

    @Test func `a process can read its own record`() throws {
        let record = try #require(try ProcessRecord.read(getpid()))
        #expect(record.pid == getpid())
        #expect(record.parent == getppid())
        #expect(record.session == getsid(0))
        #expect(record.startTicks > 0)
        #expect(!record.hasEnded)
        #expect(try ProcessRecord.all().contains { $0.pid == getpid() && $0.startTicks == record.startTicks })
        #expect(ProcessRecord.environment(of: getpid()).contains { $0.hasPrefix("PATH=") })
    }

    @Test func `the record of a missing process is nil`() throws {
        #expect(try ProcessRecord.read(Int32.max) == nil)
        #expect(ProcessRecord.environment(of: Int32.max).isEmpty)
    }

    @Test func `the boot has an identifier`() throws {
        let name = try Boot.identifier()
        #expect(name.utf8.count == 36)
        #expect(try Boot.identifier() == name)
    }

    @Test func `root is found by name and by uid`() throws {
        let root = try #require(try Account.named("root"))
        #expect(root.uid == 0)
        #expect(try Account.withUID(0) == root)
        #expect(try root.groups().contains(0))
        #expect(try Account.named("no-such-user-here") == nil)
        #expect(try Account.withUID(4_000_000_000) == nil)
        #expect(try Account.group(named: "root") == 0)
    }

    @Test func `random names differ`() throws {
        let one = try Randomness.identifier()
        #expect(one.count == 32)
        #expect(try Randomness.identifier() != one)
    }

    @Test func `a notification without a service manager is no error`() throws {
        #expect(try Service.notify("STATUS=nobody") == (Environment["NOTIFY_SOCKET"] != nil))
    }
}

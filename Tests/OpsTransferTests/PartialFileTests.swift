import Foundation
import TestSupport
import Testing

@testable import OpsTransfer

/// Tests of `PartialFile`: the bytes and the record that are stored beside a target.
@Suite struct PartialFileTests {
    private let folder: String
    private var target: String { folder + "/file" }
    private var part: String { folder + "/.file.part" }
    private var state: String { folder + "/.file.part.state" }

    init() throws { folder = try Scratch.folder() }

    private func record(length: Int64? = 1000, synced: Int64 = 0, boot: String = "") -> ResumeRecord {
        ResumeRecord(
            address: "http://host/file?a b", resource: "http://host/file", validator: .etag("\"a\""), length: length,
            synced: synced, boot: boot)
    }

    private func append(_ count: Int, to file: PartialFile) throws {
        _ = try file.append(Array(serverContent(size: count)))
    }

    private func finish(_ file: PartialFile) throws {
        try file.replaceTarget(umask: 0o022)
        try file.syncName()
    }

    private func write(_ bytes: some Sequence<UInt8>, to path: String, mode: Int = 0o600) {
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data(bytes), attributes: [.posixPermissions: mode]))
    }

    @Test func `a record is read as it was written, and a truncated or changed record is ignored`() {
        for length in [nil, 1000] as [Int64?] {
            for validator in [Validator.etag("\"\""), .modified("Sun, 06 Nov 1994 08:49:37 GMT")] {
                var record = record(length: length, synced: 5, boot: "boot")
                record.validator = validator
                let bytes = record.bytes
                #expect(ResumeRecord(bytes: bytes) == record)
                for count in bytes.indices { #expect(ResumeRecord(bytes: Array(bytes[..<count])) == nil) }
                for index in bytes.indices {
                    var changed = bytes
                    changed[index] ^= 1
                    #expect(ResumeRecord(bytes: changed) == nil)
                }
            }
        }
    }

    /// A process that is being started has copies of all descriptors, until it runs its program.
    @Test func `a closed file is not locked although a copy of its descriptor is open`() throws {
        func copy() throws -> Int32 {
            let path = "/proc/self/fd"
            let number = try #require(
                FileManager.default.contentsOfDirectory(atPath: path).first {
                    // Descriptors of other tests are closed meanwhile.
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(path)/\($0)")) == part
                })
            return dup(try #require(Int32(number)))
        }
        let number: Int32
        do {
            let first = try PartialFile(target: target)
            number = try copy()
            withExtendedLifetime(first) {}
        }
        defer { close(number) }
        #expect(throws: Never.self) { try PartialFile(target: target) }
    }

    @Test func `a second download of the same target is refused while the first runs`() throws {
        let first = try PartialFile(target: target)
        let failure = try #require(throws: Failure.self) { try PartialFile(target: target) }
        #expect(failure.kind == .retryable)
        try finish(first)
        #expect(throws: Never.self) { try PartialFile(target: target) }
    }

    @Test func `a name that is too long for the files beside it is refused at once`() throws {
        let failure = try #require(throws: Failure.self) {
            try PartialFile(target: folder + "/" + String(repeating: "y", count: 240))
        }
        #expect(failure.kind == .usage)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        let file = try PartialFile(target: folder + "/" + String(repeating: "y", count: 239))
        try file.startAgain(record())
        try append(100, to: file)
        try file.checkpoint()
        try finish(file)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    }

    @Test func `bytes that were written since the boot are kept without a sync`() throws {
        do {
            let file = try PartialFile(target: target)
            try file.startAgain(record())
            try append(100, to: file)
            try file.checkpoint()
            try append(50, to: file)
        }
        #expect(try PartialFile(target: target).size == 150)
    }

    /// After a power cut only synced bytes are kept, for all later attempts too.
    @Test func `of bytes that were written before the boot only synced ones are kept`() throws {
        write(serverContent(size: 150), to: part)
        write(record(synced: 100, boot: "another").bytes, to: state)
        do {
            let file = try PartialFile(target: target)
            #expect(file.size == 100)
            try file.close()
        }
        #expect(FileManager.default.contents(atPath: part) == serverContent(size: 100))
        #expect(try PartialFile(target: target).size == 100)
    }

    @Test func `a file shorter than its record is not continued`() throws {
        write(serverContent(size: 99), to: part)
        write(record(synced: 100, boot: ResumeRecord.currentBoot()).bytes, to: state)
        #expect(try PartialFile(target: target).record == nil)
    }

    @Test func `a sparse file near the largest size is not continued`() throws {
        let large = TemporaryDirectory(inMemory: true)
        let (target, size) = (large.path + "/file", Int64.max)
        write(Data(), to: large.path + "/.file.part")
        #expect(truncate(large.path + "/.file.part", Int(size)) == 0)
        let record = record(length: nil, synced: size, boot: ResumeRecord.currentBoot())
        write(record.bytes, to: large.path + "/.file.part.state")
        let file = try PartialFile(target: target)
        #expect(file.record == nil && file.size == 0)
        try file.close()
    }

    @Test func `a truncated record restarts the file`() throws {
        write(serverContent(size: 150), to: part)
        write(record(synced: 100).bytes.dropLast(), to: state)
        let file = try PartialFile(target: target)
        #expect(file.record == nil && file.size == 0)
        try file.startAgain(nil)
        #expect(!FileManager.default.fileExists(atPath: state))
    }

    /// A kill between the rename of the partial file and the removal of its record leaves a record without a file.
    @Test func `a record without a file is not used for a later file`() throws {
        write(record(synced: 100, boot: ResumeRecord.currentBoot()).bytes, to: state)
        do {
            let file = try PartialFile(target: target)
            #expect(file.record == nil)
            try file.startAgain(nil)
            try append(200, to: file)
        }
        #expect(try PartialFile(target: target).record == nil)
    }

    @Test func `a half-written record of a killed download is removed`() throws {
        write([1], to: state + ".new")
        try PartialFile(target: target).close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test func `a finished file has the permissions of the file that it replaces`() throws {
        write([1, 2, 3], to: target, mode: 0o640)
        let file = try PartialFile(target: target)
        try file.startAgain(nil)
        try append(10, to: file)
        try finish(file)
        let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int
        #expect(mode == 0o640)
        #expect(FileManager.default.contents(atPath: target) == serverContent(size: 10))
    }

    @Test func `only a regular file is replaced`() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: folder + "/directory", withIntermediateDirectories: false)
        write([1], to: folder + "/own")
        try files.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "own")
        try files.createSymbolicLink(atPath: folder + "/dangling", withDestinationPath: "nowhere")
        for path in ["directory", "link", "dangling", "directory/", ".", "..", "nowhere/file", "own/file"] {
            let failure = try #require(throws: Failure.self, "\(path)") { try PartialFile(target: folder + "/" + path) }
            #expect(failure.kind == .usage, "\(path)")
        }
        for (path, kind) in [
            ("\(folder)/directory", "a directory"), ("\(folder)/link", "a symbolic link"),
            ("/dev/null", "not a regular file"),
        ] {
            let failure = try #require(throws: Failure.self) { try PartialFile(target: path) }
            #expect(failure.message == "\(path) is \(kind), and only a regular file is replaced; give another path")
        }
        for path in ["/dev/null", "/dev/stdout", "", "/"] {
            #expect(throws: Failure.self, "\(path)") { try PartialFile(target: path) }
        }
        #expect(try files.contentsOfDirectory(atPath: folder).sorted() == ["dangling", "directory", "link", "own"])
    }

    /// A process that is killed just before its last rename leaves a partial file with the permissions of the target.
    @Test(arguments: [(0o600, 150), (0o644, 150), (0o664, 0), (0o666, 0), (0o444, 0)] as [(Int, Int64)])
    func `a partial file that others may write to, or that is read-only, is replaced`(mode: Int, kept: Int64) throws {
        write(serverContent(size: 150), to: part, mode: mode)
        write(record(synced: 100, boot: ResumeRecord.currentBoot()).bytes, to: state)
        let file = try PartialFile(target: target)
        #expect(file.size == kept)
        #expect((file.record != nil) == (kept > 0))
        let found = try FileManager.default.attributesOfItem(atPath: part)[.posixPermissions] as? Int
        #expect(found == (kept > 0 ? mode : 0o600))
        try file.startAgain(nil)
        try append(10, to: file)
        try finish(file)
        #expect(FileManager.default.contents(atPath: target) == serverContent(size: 10))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
    }

    enum Change: CaseIterable { case removed, replaced, linked, appended, truncated }

    @Test(arguments: Change.allCases)
    func `a partial file that was changed before its rename is not put in place`(_ change: Change) throws {
        let file = try changedFile(change)
        let failure = try #require(throws: Failure.self) { try finish(file) }
        #expect(failure.kind == .retryable)
        #expect(failure.message.contains("was changed or replaced"), "\(failure.message)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).contains("file") == false)
        try file.close()
        try expectFreshStart()
    }

    @Test(arguments: Change.allCases)
    func `a partial file that was changed before its attempt ends is not resumed`(_ change: Change) throws {
        let file = try changedFile(change)
        try file.close()
        #expect(!FileManager.default.fileExists(atPath: state), "the bytes have no record any more")
        try expectFreshStart()
    }

    @Test func `a directory in place of a partial file is no reason to give up the fetch`() throws {
        let file = try changedFile(.removed)
        try FileManager.default.createDirectory(atPath: part, withIntermediateDirectories: false)
        let failure = try #require(throws: Failure.self) { try finish(file) }
        #expect(failure.kind == .retryable)
        #expect(failure.message.contains("was changed or replaced"), "\(failure.message)")
        #expect(throws: Never.self) { try file.close() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [".file.part"])
    }

    /// Returns a partial file with a record, which was changed since.
    private func changedFile(_ change: Change) throws -> PartialFile {
        let size = 300_000
        let file = try PartialFile(target: target)
        try file.startAgain(record(length: Int64(size)))
        try append(size, to: file)
        #expect(FileManager.default.fileExists(atPath: state), "the first bytes have a record")
        if change == .removed || change == .replaced || change == .linked {
            try FileManager.default.removeItem(atPath: part)
        }
        switch change {
        case .removed: break
        case .replaced: write(serverContent(version: 2, size: size), to: part)
        case .linked: try FileManager.default.createSymbolicLink(atPath: part, withDestinationPath: "other")
        case .appended, .truncated: #expect(truncate(part, change == .appended ? size + 4 : size - 4) == 0)
        }
        return file
    }

    /// Expects that the next attempt uses no earlier byte, and finishes.
    private func expectFreshStart() throws {
        let again = try PartialFile(target: target)
        #expect(again.size == 0 && again.record == nil)
        try again.startAgain(nil)
        try append(10, to: again)
        try finish(again)
        #expect(FileManager.default.contents(atPath: target) == serverContent(size: 10))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
    }

    @Test func `a record that others may write to is not used`() throws {
        write(serverContent(size: 150), to: part)
        write(record(synced: 100, boot: ResumeRecord.currentBoot()).bytes, to: state, mode: 0o666)
        #expect(try PartialFile(target: target).record == nil)
    }

    @Test func `a partial file that is a link is refused`() throws {
        write([1], to: folder + "/other")
        try FileManager.default.linkItem(atPath: folder + "/other", toPath: part)
        #expect(throws: Failure.self) { try PartialFile(target: target) }
        try FileManager.default.removeItem(atPath: part)
        try FileManager.default.createSymbolicLink(atPath: part, withDestinationPath: "other")
        #expect(throws: Failure.self) { try PartialFile(target: target) }
        #expect(FileManager.default.contents(atPath: folder + "/other") == Data([1]))
    }

    @Test func `parent directories may be symbolic links of the user`() throws {
        try FileManager.default.createDirectory(atPath: folder + "/a/b", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "a/b/../b")
        try finish(PartialFile(target: folder + "/link/file"))
        #expect(FileManager.default.fileExists(atPath: folder + "/a/b/file"))
        try FileManager.default.createSymbolicLink(atPath: folder + "/loop", withDestinationPath: "loop")
        #expect(throws: Failure.self) { try PartialFile(target: folder + "/loop/file") }
    }

    @Test(.enabled(if: Program.isRoot, "NOT TESTED: symbolic links of another user; needs root"))
    func `another user's symbolic link in a shared directory is not followed`() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: folder + "/shared/own", withIntermediateDirectories: true)
        try files.setAttributes([.posixPermissions: 0o1777], ofItemAtPath: folder + "/shared")
        try files.createSymbolicLink(atPath: folder + "/shared/link", withDestinationPath: "own")
        #expect(throws: Never.self) { try PartialFile(target: folder + "/shared/link/file") }
        try Program.run("/bin/chown", "-h", "65534", folder + "/shared/link")
        let failure = try #require(throws: Failure.self) { try PartialFile(target: folder + "/shared/link/file") }
        #expect(failure.kind == .usage)
    }

    @Test func `checksums match the examples of the standard`() {
        let known = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                String(repeating: "a", count: 1_000_000),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
            ),
        ]
        for (text, checksum) in known { #expect(SHA256.digest(of: Array(text.utf8)).description == checksum) }
    }

    /// Compares the checksums with those of sha256sum.
    @Test func `checksums do not depend on the size of the pieces`() throws {
        for size in [55, 56, 57, 63, 64, 65, 119, 120, 128, 1000] {
            let bytes = Array(serverContent(size: size))
            let path = folder + "/bytes"
            write(bytes, to: path)
            let expected = try Program.run("/usr/bin/sha256sum", path).output.prefix(64)
            for step in [1, 7, 64, 65, size] {
                var digest = SHA256()
                for start in stride(from: 0, to: size, by: step) {
                    digest.add(Array(bytes[start..<min(start + step, size)]))
                }
                #expect(digest.end().description == expected)
            }
        }
    }
}

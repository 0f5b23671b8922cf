import Foundation
import TestSupport
import Testing

@testable import OpsTransfer

/// A disk that can lose bytes: once it is full, a write succeeds, the first sync after it fails, and the next ones do not.
private final class LosingDisk {
    private let folder: String
    var path: String { folder + "/files" }

    init() throws {
        folder = try Scratch.folder()
        let script = """
            mkdir "$1/disk" "$1/files" && mount -t tmpfs -o size=4m opsd-test "$1/disk" || exit
            truncate -s 32m "$1/disk/image"
            mkfs.ext4 -q -O ^has_journal -E nodiscard,lazy_itable_init=1 "$1/disk/image" && mount -o loop "$1/disk/image" "$1/files"
            """
        let end = try Program.run("/bin/sh", ["-c", script, "sh", folder])
        guard end.status == 0 else { throw SetUpError(description: end.complaint) }
    }

    /// Takes all space below the file system, which does not know it.
    func fill() throws {
        _ = try Program.run("/bin/sh", ["-c", "dd if=/dev/zero of=\"$1/disk/filler\" bs=4k 2>/dev/null", "sh", folder])
    }

    func makeRoom() throws { try FileManager.default.removeItem(atPath: folder + "/disk/filler") }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).filter { $0 != "lost+found" } }
    }

    deinit {
        // Mounts that are left in the scratch folder are no failure of a test.
        _ = try? Program.run("/bin/sh", ["-c", "umount -l \"$1/files\"; umount -l \"$1/disk\"", "sh", folder])
    }

    /// True if this process may mount file systems.
    static let isPossible: Bool = {
        // The tests are skipped where such a disk cannot be made.
        Program.isRoot && (try? LosingDisk()) != nil
    }()
}

/// Bytes that the kernel could not write to the disk. A later attempt must not take them for bytes of the file.
@Suite(.enabled(if: LosingDisk.isPossible, "NOT TESTED: a disk that loses bytes; needs root and a loop device"))
struct LostBytesTests {
    private let disk: LosingDisk
    private let record = ResumeRecord(
        address: "http://host/file", resource: "http://host/file", validator: .etag("\"a\""), length: 1_000_000,
        synced: 0,
        boot: "")

    init() throws { disk = try LosingDisk() }

    private func expectNothing() throws {
        #expect(try disk.names.isEmpty)
        let again = try PartialFile(target: disk.path + "/file")
        #expect(again.size == 0 && again.record == nil)
    }

    @Test(arguments: [100_000, 300_000])
    func `a partial file that could not be synced is not resumed`(size: Int) throws {
        let file = try PartialFile(target: disk.path + "/file")
        try file.startAgain(record)
        try disk.fill()
        if Int64(size) < PartialFile.firstCheckpoint {
            #expect(try file.append(Array(serverContent(size: size))))
            #expect(throws: (any Error).self) { try file.checkpoint() }
        } else {
            #expect(throws: (any Error).self) { try file.append(Array(serverContent(size: size))) }
        }
        try disk.makeRoom()
        try file.close()
        try expectNothing()
    }

    @Test func `an earlier record does not outlive bytes that were lost`() throws {
        let file = try PartialFile(target: disk.path + "/file")
        try file.startAgain(record)
        #expect(try file.append(Array(serverContent(size: 300_000))))
        #expect(try disk.names.count == 2, "the first bytes have a record")
        try disk.fill()
        #expect(try file.append(Array(serverContent(size: 700_000))))
        try file.close()
        try expectNothing()
    }

    @Test func `a discarded file removes no file of its successor`() throws {
        let file = try PartialFile(target: disk.path + "/file")
        try file.startAgain(record)
        try disk.fill()
        #expect(throws: (any Error).self) { try file.append(Array(serverContent(size: 300_000))) }
        let successor = try PartialFile(target: disk.path + "/file")
        try file.close()
        #expect(try disk.names == [".file.part"])
        try successor.close()
    }
}

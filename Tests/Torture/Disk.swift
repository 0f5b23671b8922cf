import Foundation
import Glibc

/// The file system under the state directory, where it is one of the torture's own (scripts/torture).
enum Disk: Sendable {
    /// The machine's: nothing is done to it.
    case shared
    /// A small tmpfs: it can be full.
    case small
    /// A file system in an image on a tmpfs: it can be full, fail to write, and lose its power.
    case image(Image)

    struct Image: Sendable {
        enum Kind: String { case ext4, xfs, btrfs }
        var path: String
        var kind = Kind.ext4
        /// Options of mount(8).
        var options = ""

        /// False where the file system has no call that loses what was not synced.
        var losesPower: Bool { kind != .btrfs }
    }

    var canBeFull: Bool { if case .shared = self { false } else { true } }
    var image: Image? { if case .image(let image) = self { image } else { nil } }

    /// Brings a directory to the disk.
    static func sync(_ directory: String) throws {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0, fsync(descriptor) == 0 else { throw Trouble("cannot sync \(directory)") }
        close(descriptor)
    }

    /// Writes into a new file until no block is left; deleting it makes room.
    static func fill(_ path: String) -> Bool {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        let block = [UInt8](repeating: 1, count: 4096)
        while block.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) > 0 {}
        close(file)
        return true
    }

    /// The power goes: what was not synced is lost, and everything fails until it is mounted again.
    static func cutPower(_ mountPoint: String, of image: Image) throws {
        // A btrfs that could not write has turned itself off.
        guard image.losesPower else { return }
        let directory = open(mountPoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one call. GOING_FLAGS_NOLOGFLUSH: not even the journal's end is written.
        var how: UInt32 = 2
        let shutDown: UInt = 0x8004_587D
        guard directory >= 0, ioctl(directory, shutDown, &how) == 0 else {
            throw Trouble("cannot cut the power of \(mountPoint): \(String(cString: strerror(errno)))")
        }
        close(directory)
    }

    /// Takes the file system away once nobody has a file open in it, and does what a machine does at its start.
    static func remount(_ image: Image, at mountPoint: String, report: String) throws {
        let end = Date().addingTimeInterval(20)
        while umount(mountPoint) != 0 {
            guard errno == EBUSY, Date() < end else {
                throw Trouble("cannot unmount \(mountPoint): \(String(cString: strerror(errno)))")
            }
            usleep(10_000)
        }
        // The others repair themselves when they are mounted. 1: mended.
        if image.kind == .ext4 { try run(["/sbin/e2fsck", "-p", image.path], report, upTo: 1) }
        try run(["/bin/mount", "-o", image.options, image.path, mountPoint], report, upTo: 0)
        try keepHonest(mountPoint)
    }

    /// Has the loop device below it write one page at a time. Linux 6.18 answers a write of which the file below took
    /// only a part as if all of it had been written; a page it takes or refuses.
    static func keepHonest(_ mountPoint: String) throws {
        let mounts = try String(contentsOfFile: "/proc/self/mounts", encoding: .utf8).split(separator: "\n")
        let device = mounts.map { $0.split(separator: " ") }.last { $0.count > 1 && $0[1] == mountPoint }?[0]
        guard let device else { throw Trouble("\(mountPoint) is not mounted") }
        let setting = "/sys/block/\(device.dropFirst("/dev/".count))/queue/max_sectors_kb"
        try "4".write(toFile: setting, atomically: false, encoding: .utf8)
        guard try String(contentsOfFile: setting, encoding: .utf8) == "4\n" else {
            throw Trouble("\(setting) cannot be set: the disk would lie")
        }
    }

    private static func run(_ words: [String], _ report: String, upTo highest: Int32) throws {
        let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        let status = try Program(words, environment: environment, output: report).wait(seconds: 60)
        guard let status, status <= highest else {
            throw Trouble("\(words.joined(separator: " ")) ended with \(status ?? -1): see \(report)")
        }
    }
}

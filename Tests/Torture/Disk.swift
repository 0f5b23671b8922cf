import Foundation
import Glibc

/// File system of the state directory. scripts/torture can make one for the run.
enum Disk: Sendable {
    /// A file system of the machine, which the torture leaves alone.
    case shared
    /// A small tmpfs, which can be full.
    case small
    /// A file system in an image on a tmpfs. It can be full, fail to write, and have its power cut.
    case image(Image)

    struct Image: Sendable {
        enum Kind: String { case ext4, xfs, btrfs }
        var path: String
        var kind = Kind.ext4
        /// Options of mount(8).
        var options = ""

        /// False if the file system has no call that discards unsynced data.
        var losesPower: Bool { kind != .btrfs }
    }

    var canBeFull: Bool { if case .shared = self { false } else { true } }
    var image: Image? { if case .image(let image) = self { image } else { nil } }

    /// Syncs a directory.
    static func sync(_ directory: String) throws {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0, fsync(descriptor) == 0 else { throw Trouble("cannot sync \(directory)") }
        close(descriptor)
    }

    /// Writes a new file until no block is left. Deleting the file makes room again.
    static func fill(_ path: String) -> Bool {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        let block = [UInt8](repeating: 1, count: 4096)
        while block.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) > 0 {}
        close(file)
        return true
    }

    /// Cuts the power: unsynced data are lost, and every call fails until the file system is mounted again.
    static func cutPower(_ mountPoint: String, of image: Image) throws {
        // A btrfs that could not write has already shut itself down.
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

    /// Unmounts the file system as soon as no process uses it, repairs it, and mounts it again, as a machine does when
    /// it starts. Kills the processes that still use it, such as one that a stop keeps from executing its program.
    static func remount(_ image: Image, at mountPoint: String, report: String) throws {
        let end = Date().addingTimeInterval(20)
        while umount(mountPoint) != 0 {
            let error = errno
            guard error == EBUSY, Date() < end else {
                let reason = String(cString: strerror(error))
                throw Trouble("cannot unmount \(mountPoint): \(reason); used by: \(users(of: mountPoint).map(\.words))")
            }
            for user in users(of: mountPoint) where user.pid != getpid() { kill(user.pid, SIGKILL) }
            usleep(10_000)
        }
        // The other file systems repair themselves when they are mounted. Status 1: errors were corrected.
        if image.kind == .ext4 { try run(["/sbin/e2fsck", "-p", image.path], report, upTo: 1) }
        try run(["/bin/mount", "-o", image.options, image.path, mountPoint], report, upTo: 0)
        try keepHonest(mountPoint)
    }

    /// Returns the processes that have something open below a directory, described with their state and the path.
    private static func users(of directory: String) -> [(pid: pid_t, words: String)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []  // no /proc: no Linux
        return names.compactMap(pid_t.init).compactMap { pid in
            let process = "/proc/\(pid)"
            let files = (try? FileManager.default.contentsOfDirectory(atPath: process + "/fd")) ?? []  // it has ended
            let links = ["/cwd", "/root", "/exe"] + files.map { "/fd/" + $0 }
            let path = links.lazy.compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: process + $0)  // closed since
            }.first { $0.hasPrefix(directory) }
            guard let path else { return nil }
            let status = FileManager.default.contents(atPath: process + "/status") ?? Data()  // it has ended
            let facts = String(decoding: status, as: UTF8.self).split(separator: "\n").prefix(3).joined(separator: ", ")
            return (pid, "\(pid) (\(facts)): \(path)")
        }
    }

    /// Makes the loop device write one page at a time. Linux 6.18 reports success for a write of which the file below
    /// the device took only a part. A single page is taken completely or refused.
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

import Foundation
import Glibc
import TestSupport
import Testing

/// A state directory on a small file system of its own, which becomes full and has space again.
@Suite struct FullDiskTests {
    /// A mounted file system, which is unmounted with this object.
    private final class SmallDisk {
        let path: String

        init(at path: String, megabytes: Int) throws {
            self.path = path
            try SmallDisk.run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m,mode=700", "opsd-test", path)
        }

        /// Mounts a new file system of 128 MB, in which every write goes to a new block.
        init(btrfsAt path: String, image: String) throws {
            self.path = path
            try SmallDisk.run("truncate", "-s", "128M", image)
            try SmallDisk.run("mkfs.btrfs", "-q", image)
            try SmallDisk.run("mount", "-o", "loop", image, path)
        }

        deinit {
            _ = try? SmallDisk.run("umount", "-l", path)  // a mount that is left in /tmp is no failure
            rmdir(path)
        }

        static func run(_ words: String...) throws {
            let command = try Command("/usr/bin/env", words, environment: Machine.environment, in: "/")
            let output = try command.wait(seconds: 20)
            guard output.status == 0 else { throw SetupError("\(words.joined(separator: " ")): \(output.err)") }
        }

        /// True if this process may mount file systems.
        static let isPossible: Bool = {
            let place = NSTemporaryDirectory() + "/opsd-mount-\(getpid())"
            guard geteuid() == 0, mkdir(place, 0o700) == 0 else { return false }
            defer { rmdir(place) }
            // The test is skipped where the file system cannot be mounted.
            return (try? SmallDisk(at: place, megabytes: 1)) != nil
        }()

        static let isBtrfsPossible: Bool = {
            let temporary = TemporaryDirectory()
            defer { withExtendedLifetime(temporary) {} }
            let place = temporary.path + "/disk"
            guard isPossible, mkdir(place, 0o700) == 0 else { return false }
            // The test is skipped where the file system cannot be made or mounted.
            return (try? SmallDisk(btrfsAt: place, image: temporary.path + "/image")) != nil
        }()

        /// Fills the file system to the last byte.
        func fill() throws {
            let descriptor = open(path + "/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw SetupError("filler: \(String(cString: strerror(errno)))") }
            defer { close(descriptor) }
            for size in [65536, 512, 1] {
                let bytes = [UInt8](repeating: 0, count: size)
                while write(descriptor, bytes, size) > 0 {}
            }
        }

        func empty() { unlink(path + "/filler") }
    }

    /// SQLite maps the index of its log into memory: without a block for a page that it changed, the kernel killed opsd.
    @Test(.enabled(if: SmallDisk.isBtrfsPossible, "NOT RUN: this needs root, btrfs, loop devices and mkfs.btrfs"))
    func `opsd survives a full disk that never writes in place`() throws {
        let temporary = TemporaryDirectory()
        defer { withExtendedLifetime(temporary) {} }
        let machine = try Machine(start: false)
        let disk = try SmallDisk(btrfsAt: machine.state, image: temporary.path + "/image")
        machine.ground = disk
        try machine.start()
        let daemon = try #require(try machine.ok("status", "--json").object["pid"] as? Int)
        try disk.fill()
        for _ in 0..<20 {
            // Gives what was changed in memory its block now, so that the next change needs a new one.
            try SmallDisk.run("sync", "-f", machine.state)
            let output = try machine.ctl("submit", "--", "true")
            #expect([0, 6].contains(output.status), "\(output.err)")
        }
        disk.empty()
        try SmallDisk.run("sync", "-f", machine.state)
        var after = try machine.ctl("submit", "--", "true")
        for _ in 0..<600 where after.status == 6 {
            // The file system needs a moment for the blocks of the removed file.
            usleep(100_000)
            after = try machine.ctl("submit", "--", "true")
        }
        #expect(try machine.ctl("wait", after.out.trimmingCharacters(in: .newlines), "--timeout", "60s").status == 0)
        #expect(try machine.ok("status", "--json").object["pid"] as? Int == daemon)
        try machine.ok("check")
    }

    private func marks(_ path: String) -> [String] {
        (FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? "")
            .split(separator: "\n").map(String.init)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "NOT RUN: a full disk can be tried by root alone, who may mount one"))
    func `a full disk stops new submissions and loses nothing`() throws {
        let temporary = TemporaryDirectory()
        defer { withExtendedLifetime(temporary) {} }
        let outside = temporary.path
        mkfifo(outside + "/gate", 0o600)
        let machine = try Machine(start: false)
        let disk = try SmallDisk(at: machine.state, megabytes: 8)
        machine.ground = disk
        try machine.start()
        let running = try machine.submit(
            "--shell", "echo running >> \(outside)/marks; read x < \(outside)/gate; exit 7")
        try machine.await("started", of: running)

        try disk.fill()
        // Rows that still fit into an existing page are acknowledged, and must not be lost.
        var acknowledged: [Int] = []
        var refusal: Output?
        for number in 0..<200 where refusal == nil {
            let output = try machine.ctl("submit", "--shell", "echo \(number) >> \(outside)/marks")
            if output.status == 0 {
                acknowledged.append(try #require(Int(output.out.trimmingCharacters(in: .whitespacesAndNewlines))))
            } else {
                refusal = output
            }
        }
        let refused = try #require(refusal, "a full disk took 200 submissions")
        #expect(refused.status == 6, "\(refused.err)")
        #expect(refused.err.contains("free some space"), "\(refused.err)")
        #expect(try machine.ok("status", "--json").object["state"] as? String == "storageUnavailable")
        #expect(try machine.stateOf(running) == "executing")
        #expect(try machine.ok("ls", "--json").objects.count == acknowledged.count + 1)

        // The operation ends while its end cannot be stored.
        let gate = open(outside + "/gate", O_WRONLY | O_CLOEXEC)
        #expect(gate >= 0 && write(gate, "x\n", 2) == 2)
        close(gate)
        #expect(try machine.ctl("submit", "--", "true").status == 6)
        #expect(try machine.stateOf(running) == "executing")

        disk.empty()
        #expect(try machine.ctl("wait", "\(running)", "--timeout", "60s").status == 1)
        let end = try machine.show(running)
        #expect(end["exitCode"] as? Int == 7 && end["attempt"] as? Int == 1)
        for id in acknowledged {
            #expect(try machine.ctl("wait", "\(id)", "--timeout", "60s").status == 0)
            #expect(try machine.show(id)["attempt"] as? Int == 1)
        }
        let after = try machine.submit("--", "true")
        #expect(try machine.ctl("wait", "\(after)", "--timeout", "60s").status == 0)
        #expect(try machine.ok("status", "--json").object["state"] as? String == "running")
        #expect(marks(outside + "/marks").sorted() == (["running"] + acknowledged.indices.map { "\($0)" }).sorted())
        try machine.ok("check")
    }
}

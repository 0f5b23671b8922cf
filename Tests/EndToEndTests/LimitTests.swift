import Foundation
import Glibc
import Testing

/// Limits and priorities that the kernel enforces for each process. Those of control groups need controllers: `make
/// boot` tests them.
@Suite struct LimitTests {
    @Test func `a file that grows past its limit ends the operation`() throws {
        let machine = try Machine()
        let file = machine.state + "/large"
        let id = try machine.submit(
            "--limit", "fileSize=64K", "--", "dd", "if=/dev/zero", "of=\(file)", "bs=4096", "count=1000")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 1)
        let row = try machine.show(id)
        #expect(row["signal"] as? Int == Int(SIGXFSZ))
        #expect(row["cause"] as? String == "killed by SIGXFSZ")
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int == 65_536)
    }

    @Test func `each further attempt has more`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--limit", "fileSize=64K", "--retry", "2", "--retry-backoff", "0", "--retry-scale", "limits.fileSize=2",
            "--retry-scale", "timeout=1.5", "--timeout", "20s", "--", "sh", "-c", "ulimit -f; exit 1")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 1)
        let sizes = try (1...3).map { try machine.ok("log", "\(id)", "--attempt", "\($0)").lines.first }
        #expect(sizes == ["128", "256", "512"], "in units of 512 bytes")
        let retry = try #require(try machine.show(id)["retry"] as? [String: Any])
        let scale = try #require(retry["scale"] as? [String: Double])
        #expect(scale == ["limits.fileSize": 2, "timeout": 1.5])
        #expect(try machine.ok("show", "\(id)").out.contains("limits.fileSize 256K"))
        let attempts = try #require(try machine.show(id)["attempts"] as? [[String: Any]])
        #expect(attempts.map { ($0["scaled"] as? [String: Any])?["timeout"] as? String } == ["20s", "30s", "45s"])
        // A new run begins with the first values again.
        try machine.ok("retry", "\(id)")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 1)
        #expect(try machine.ok("log", "\(id)", "--attempt", "4").lines.first == "128")
    }

    @Test func `open files grow up to what the runner may allow`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--limit", "openFiles=100", "--retry", "1", "--retry-backoff", "0", "--retry-scale",
            "limits.openFiles=1000", "--retry-scale", "limits.memory=2", "--", "sh", "-c", "ulimit -n; exit 1")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 1)
        #expect(try machine.show(id)["cause"] as? String == "exit status 1")
        let files = try #require(Int(try machine.ok("log", "\(id)", "--attempt", "2").lines.first ?? ""))
        #expect(files > 100 && files <= 100_000)
        let wrong = try machine.ctl("submit", "--retry", "1", "--retry-scale", "limits.nice=2", "--", "true")
        #expect(wrong.status == 5 && wrong.err.contains("retry.scale.limits.nice"), "\(wrong.err)")
        #expect(try machine.ctl("submit", "--retry", "1", "--retry-scale", "timeout=x", "--", "true").status == 2)
    }

    /// The log of an operation is a file too, so the limit applies to it.
    @Test func `the limit of file size applies to the output too`() throws {
        let machine = try Machine()
        let id = try machine.submit("--limit", "fileSize=64K", "--", "yes", "0123456789abcde")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 1)
        #expect(try machine.show(id)["cause"] as? String == "killed by SIGXFSZ")
        #expect(try machine.ok("log", "\(id)").out.utf8.count == 65_536)
    }

    @Test func `each process has its own limits and no others`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--limit", "coreSize=0", "--limit", "fileSize=1M", "--limit", "openFiles=20", "--",
            "grep", "-E", "file size|core|open", "/proc/self/limits")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        let lines = try machine.ok("log", "\(id)").lines.map { $0.split(separator: " ").map(String.init) }
        #expect(
            lines == [
                ["Max", "file", "size", "1048576", "1048576", "bytes"],
                ["Max", "core", "file", "size", "0", "0", "bytes"],
                ["Max", "open", "files", "20", "20", "files"],
            ])
    }

    /// The limit is above the maximum of the kernel. It is refused at submission, instead of failing an attempt.
    @Test func `a limit that the runner may not set is refused at submission`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("run", "--", "true").status == 0, "the runner is there")
        let output = try machine.ctl("submit", "--limit", "openFiles=2000000000", "--", "true")
        #expect(output.status == 5 && output.err.contains("limits.openFiles: the runner may allow"), "\(output.err)")
    }

    @Test func `qos sets the nice value and the class of input and output`() throws {
        let machine = try Machine()
        let id = try machine.submit("--qos", "background", "--shell", "nice; ionice")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        #expect(try machine.ok("log", "\(id)").lines == ["15", "idle"])
    }
}

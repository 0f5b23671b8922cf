import Foundation
import TestSupport
import Testing

@testable import OpsTransfer

/// Tests of opsd-fetch as a process.
@Suite struct FetchProgramTests {
    @Test(arguments: [
        ("file", "", 0, ""), ("truncates", "", 75, ""), ("status", "status=503&retry=120", 75, "retry after 120 s"),
        ("status", "status=429&retry=5", 75, "retry after 5 s"), ("status", "status=404", 69, "404"),
        ("circle", "", 69, "redirects"), ("gzip", "", 65, "gzip"), ("unasked-part", "", 65, "206"),
        ("no-body", "", 75, "100000 bytes"), ("resets-once", "", 75, ""),
        ("overflowing-length", "", 65, "Content-Length"), ("long-header", "", 65, "headers"),
        ("status", "status=503&retry=-5", 75, "503"), ("leads-nowhere", "", 69, "302"),
    ])
    func `the exit status shows whether a retry can succeed`(
        scenario: String, query: String, status: Int32, words: String
    ) throws {
        let fetch = try Fetch()
        let end = try Program.run(Program.fetch, fetch.address(scenario, query), "-o", fetch.target)
        #expect(end.status == status, "\(end.complaint)")
        #expect(words.isEmpty || end.complaint.contains(words))
        #expect(end.output == "")
        #expect((end.complaint == "") == (status == 0))
        #expect((fetch.file != nil) == (status == 0))
    }

    @Test(arguments: [
        [], ["http://host/"], ["-o", "f"], ["http://host/", "-o"], ["http://host/", "http://host/", "-o", "f"],
        ["ftp://host/", "-o", "f"], ["http://u:secret@host/", "-o", "f"],
        ["http://host/", "-o", "f", "--sha256", "12"],
        ["http://host/", "-o", "f", "--limit-rate", "fast"], ["http://host/", "-o", "f", "--limit-rate", "0"],
        ["http://host/", "-o", "f", "--headers-file", "/nowhere"], ["http://host/", "-o", "/nowhere/f"],
        ["http://host/", "-o", "f", "-o", "g"], ["http://host/", "-o", "/"], ["--frobnicate"],
    ])
    func `an invalid command line ends with 64`(arguments: [String]) throws {
        let end = try Program.run("/usr/bin/env", [Program.fetch] + arguments)
        #expect(end.status == 64)
        #expect(!end.complaint.isEmpty && !end.complaint.contains("secret"))
    }

    @Test func `--help prints the usage`() throws {
        let end = try Program.run(Program.fetch, "--help")
        #expect(end.status == 0)
        #expect(end.output.hasPrefix("usage: opsd-fetch URL -o FILE"))
    }

    @Test func `a checksum is verified`() throws {
        let fetch = try Fetch()
        let right = SHA256.digest(of: Array(serverContent(size: 100_000))).description
        let run = { (sum: String) in
            try Program.run(Program.fetch, fetch.address("file"), "-o", fetch.target, "--sha256", sum)
        }
        #expect(try run(String(repeating: "1", count: 64)).status == 65)
        #expect(fetch.file == nil)
        #expect(try run(right.uppercased()).status == 0)
        #expect(fetch.file == serverContent(size: 100_000))
    }

    @Test func `a download with --limit-rate is completed`() throws {
        let fetch = try Fetch()
        // The rate itself is not measured. If 100K were read as 100 bytes a second, the download would take 1,000 seconds.
        let end = try Program.run(
            Program.fetch, fetch.address("file"), "-o", fetch.target, "--limit-rate", "100K")
        #expect(end.status == 0)
        #expect(fetch.file == serverContent(size: 100_000))
    }

    @Test func `a new file gets the permissions that the umask allows`() throws {
        let fetch = try Fetch()
        let script = "umask 027; exec \"$1\" \"$2\" -o \"$3\""
        #expect(
            try Program.run("/bin/sh", "-c", script, "sh", Program.fetch, fetch.address("file"), fetch.target).status
                == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: fetch.target)[.posixPermissions] as? Int
        #expect(mode == 0o640)
    }

    @Test func `progress goes to the notify socket`() throws {
        let fetch = try Fetch()
        let path = fetch.folder + "/notify"
        let script = """
            import socket, subprocess, sys
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            listener.bind(sys.argv[1])
            status = subprocess.run(sys.argv[2:], env={"NOTIFY_SOCKET": sys.argv[1]}, stderr=subprocess.DEVNULL).returncode
            listener.setblocking(False)
            try:
                while True: print(listener.recv(4096).decode())
            except BlockingIOError: pass
            sys.exit(status)
            """
        let run = { (address: String) in
            try? FileManager.default.removeItem(atPath: path)
            return try Program.run(
                "/usr/bin/env", ["python3", "-c", script, path, Program.fetch, address, "-o", fetch.target])
        }
        #expect(try run(fetch.address("file")).output.contains("X_OPS_PROGRESS=100000/100000\n"))
        let busy = try run(fetch.address("status", "status=503&retry=30"))
        #expect(busy.status == 75)
        #expect(busy.output.contains("STATUS=") && busy.output.contains("retry after 30 s"))
    }

    @Test func `killed downloads leave no wrong byte`() throws {
        let script = LyingServer.scripts.appendingPathComponent("kill_torture.py").path
        let end = try Program.run("/usr/bin/env", ["python3", "-B", script, Program.fetch, "30"])
        #expect(end.status == 0, "\(end.complaint)")
        #expect(end.output.contains("every byte right"))
    }

    @Test(
        .enabled(if: Program.isRoot, "NOT TESTED: a full disk; needs root"), arguments: ["file", "endless-chunks"])
    func `a full disk is retryable and does not change the target`(scenario: String) throws {
        let fetch = try Fetch()
        let script = """
            mount -t tmpfs -o size=64k tmpfs "$1" || exit 99
            echo old > "$1/file"
            "$2" "$3" -o "$1/file"; status=$?
            [ "$(cat "$1/file")" = old ] || status=98
            ls -A "$1"; umount "$1"; exit $status
            """
        let end = try Program.run(
            "/usr/bin/env",
            ["unshare", "--mount", "sh", "-c", script, "sh", fetch.folder, Program.fetch, fetch.address(scenario)])
        guard end.status != 99, !end.complaint.contains("unshare:") else {
            print("NOT TESTED: a full disk; cannot mount a file system: \(end.complaint)")
            return
        }
        #expect(end.status == 75, "\(end.complaint)")
        #expect(end.complaint.contains("No space left on device"))
        #expect(end.output == "file\n", "bytes that cannot be continued are deleted")
    }
}

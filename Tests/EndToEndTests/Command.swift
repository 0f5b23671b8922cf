import Foundation
import Glibc
import Testing

/// Output and exit status of a finished program (128+n for a signal, as in a shell).
struct Output {
    var status: Int32
    var out: String
    var err: String

    var lines: [String] { out.split(separator: "\n").map(String.init) }

    /// The lines of standard output as JSON objects.
    var objects: [[String: Any]] {
        get throws {
            try lines.map { line in
                let value = try JSONSerialization.jsonObject(with: Data(line.utf8), options: [.fragmentsAllowed])
                return try #require(value as? [String: Any])
            }
        }
    }
    var object: [String: Any] {
        get throws { try #require(try objects.first) }
    }
}

/// A program that was started. Its output goes to files, so that no process that inherits a descriptor can delay the
/// end of the test.
final class Command {
    let pid: pid_t
    private let directory: URL
    private var ended: Int32?
    private let reaped: Reaper

    init(
        _ program: String, _ arguments: [String], environment: [String: String], input: String? = nil,
        handing socket: Int32? = nil, in place: String
    ) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("opsd-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let stdin = directory.appendingPathComponent("in").path
        try Data((input ?? "").utf8).write(to: URL(fileURLWithPath: stdin))
        posix_spawn_file_actions_addopen(&actions, 0, stdin, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, 1, directory.appendingPathComponent("out").path, O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(
            &actions, 2, directory.appendingPathComponent("err").path, O_WRONLY | O_CREAT, 0o600)
        // The socket must be descriptor 3, as systemd passes it, and the shell sets LISTEN_PID to its process id before
        // it becomes the program.
        var words = ["env", "-C", place, program]
        if let socket {
            posix_spawn_file_actions_adddup2(&actions, socket, 3)
            words.insert(contentsOf: ["sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\""], at: 3)
        }
        // The threads of the test library block signals; the program must start with none blocked, as from a shell.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var argv: [UnsafeMutablePointer<CChar>?] =
            (words + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var child: pid_t = 0
        let error = posix_spawn(&child, "/usr/bin/env", &actions, &attributes, &argv, &envp)
        guard error == 0 else { throw SetupError("cannot start \(program): \(String(cString: strerror(error)))") }
        pid = child
        reaped = Reaper(child)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }  // a leftover in /tmp is no failure

    func signal(_ number: Int32) { if ended == nil { kill(pid, number) } }

    /// Output printed so far.
    var outSoFar: String { text("out") }
    var errSoFar: String { text("err") }

    private func text(_ name: String) -> String {
        let data = FileManager.default.contents(atPath: directory.appendingPathComponent(name).path) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }

    /// Waits until the output fulfils a condition.
    func until(_ isEnough: (String) throws -> Bool) throws {
        try waitUntil("it has printed only: \(outSoFar) \(errSoFar)") { try isEnough(outSoFar) }
    }

    /// Waits for the end for a limited time; then kills the program, which fails the test.
    func wait(seconds: Double = 60) throws -> Output {
        try Output(status: end(seconds: seconds), out: text("out"), err: text("err"))
    }

    private func end(seconds: Double) throws -> Int32 {
        if let ended { return ended }
        let isOver = reaped.semaphore.wait(timeout: .now() + seconds) == .success
        if !isOver {
            kill(pid, SIGKILL)
            reaped.semaphore.wait()
        }
        let status = reaped.status
        let code = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
        ended = code
        guard isOver else { throw SetupError("not over within \(seconds) s; printed: \(text("out")) \(text("err"))") }
        return code
    }
}

/// A thread that waits for one child, so that other threads can wait with a time limit.
private final class Reaper: @unchecked Sendable {  // `status` is written before the signal and read after it
    let semaphore = DispatchSemaphore(value: 0)
    private(set) var status: Int32 = 0

    init(_ pid: pid_t) {
        Thread.detachNewThread {
            while waitpid(pid, &self.status, 0) < 0, errno == EINTR {}
            self.semaphore.signal()
        }
    }
}

/// Repeats a check for at most a minute.
///
/// - Parameter trouble: Description of the state while the check fails.
func waitUntil(_ trouble: @autoclosure () -> String = "it did not come to that", _ isSo: () throws -> Bool) throws {
    let end = Date().addingTimeInterval(60)
    while try !isSo() {
        guard Date() < end else { throw SetupError("within 60 s: \(trouble())") }
        usleep(10_000)
    }
}

struct SetupError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

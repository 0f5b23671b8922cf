import Foundation
import Glibc

/// A started program whose output goes to a file.
struct Program: Sendable {
    let pid: pid_t

    /// Starts the program in a process group of its own, so that a terminal's Ctrl-C reaches only the torture.
    init(_ arguments: [String], environment: [String: String], output: String, input: String = "/dev/null") throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var child: pid_t = 0
        let error = posix_spawn(&child, arguments[0], &actions, &attributes, &words, &variables)
        guard error == 0 else { throw Trouble("cannot start \(arguments[0]): \(String(cString: strerror(error)))") }
        pid = child
    }

    func signal(_ number: Int32) { kill(pid, number) }

    /// Returns the exit status as a shell shows it (128+n for signal n), or nil if the program has not ended by then.
    func wait(seconds: Double) -> Int32? {
        let end = Date().addingTimeInterval(seconds)
        while true {
            var status: Int32 = 0
            let result = waitpid(pid, &status, WNOHANG)
            if result == pid { return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f) }
            if result < 0 && errno != EINTR { return nil }
            if Date() > end { return nil }
            usleep(2000)
        }
    }
}

/// Failure after which the torture cannot continue.
struct Trouble: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

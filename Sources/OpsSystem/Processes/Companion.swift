internal import COpsSpawn
internal import Glibc

/// A program that this process starts and communicates with: one socket is its standard input and output.
public struct Companion: Sendable {
    public let pid: Int32

    /// Starts a program, which is looked for in PATH. Its messages go where those of this process go, or nowhere if it
    /// is `silent`. With `readsInput` false nothing can be sent to it.
    public static func start(
        _ words: [String], silent: Bool = false, readsInput: Bool = true
    ) throws(SystemError) -> (companion: Companion, socket: Int32) {
        var ends: [Int32] = [-1, -1]
        try retrying("socketpair") {
            unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        }
        let (own, other) = (ends[0], ends[1])
        defer { close(other) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if readsInput {
            unsafe posix_spawn_file_actions_adddup2(&actions, other, 0)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        unsafe posix_spawn_file_actions_adddup2(&actions, other, 1)
        if silent { unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) }
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
        var pid: pid_t = 0
        let error = unsafe posix_spawnp(&pid, words[0], &actions, nil, &arguments, environ)
        guard error == 0 else {
            close(own)
            throw SystemError("start \(words[0])", errno: error)
        }
        return (Companion(pid: pid), own)
    }

    /// Makes this process end when the process that started it ends. Returns false if `parent` has ended already.
    public static func endWithParent(_ parent: Int32) -> Bool { ops_end_with_parent(parent, SIGTERM) == 1 }

    /// Ends the program if it still runs, and returns its exit status, 128 and the number of a signal if that ended it.
    public func end() -> Int32 {
        kill(pid, SIGTERM)
        return wait()
    }

    /// Waits for the end of the program and returns its exit status.
    public func wait() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(pid, &status, 0) != pid { if errno != EINTR { return -1 } }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }
}

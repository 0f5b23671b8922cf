import Glibc
import OpsCore
import OpsStore
import TestSupport
import Testing

/// A process that stores turns is killed while it writes, again and again, with the same database.
@Suite struct KillTests {
    @Test func `a killed writer loses nothing that it acknowledged`() throws {
        let directory = TemporaryDirectory(inMemory: true)
        let writer = try #require(Writer.path(), "store-writer is built beside the tests")
        var random: UInt64 = 20_240_229
        var stored: Int64 = 0
        for round in 1...200 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let wanted = Int(random >> 33 % 6)
            let acknowledged = try Writer.run(writer, directory.path, killAfter: wanted) ?? stored
            let store = try Store.open(directory: directory.path, boot: "boot")
            let found = try store.load().nextGraph - 1
            #expect(found == acknowledged || found == acknowledged + 1, "round \(round)")
            stored = found
            // Sometimes the whole database is read; each round proves that it opens, loads and continues.
            if round % 40 == 0 { #expect(try History.open(path: store.path).check() == []) }
        }
        #expect(stored > 100)
    }
}

enum Writer {
    struct Failure: Error { var what: String }

    /// The helper is in the directory of the test bundle.
    static func path() -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        let own = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for start in [own, CommandLine.arguments[0]] {
            guard let slash = start.lastIndex(of: "/") else { continue }
            let path = start[..<slash] + "/store-writer"
            if access(String(path), X_OK) == 0 { return String(path) }
        }
        return nil
    }

    /// Starts the writer, kills it after this many acknowledgements, and returns the last one; nil if there was none.
    static func run(_ path: String, _ directory: String, killAfter wanted: Int) throws -> Int64? {
        var pipe: [Int32] = [0, 0]
        guard Glibc.pipe(&pipe) == 0 else { throw Failure(what: "pipe") }
        defer { close(pipe[0]) }
        for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipe[1], 1)
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), strdup(directory), nil]
        defer { for argument in arguments { free(argument) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, path, &actions, nil, &arguments, nil)
        close(pipe[1])
        guard failure == 0 else { throw Failure(what: "spawn \(failure)") }
        var last: Int64?
        for _ in 0..<wanted {
            guard let number = next(pipe[0]) else { break }
            last = number
        }
        kill(pid, SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        guard status & 0x7f == SIGKILL else { throw Failure(what: "the writer ended by itself: \(status)") }
        // Submissions that it acknowledged before it was killed.
        while let number = next(pipe[0]) { last = number }
        return last
    }

    private static func next(_ descriptor: Int32) -> Int64? {
        var number: Int64 = 0
        return read(descriptor, &number, MemoryLayout<Int64>.size) == MemoryLayout<Int64>.size ? number : nil
    }
}

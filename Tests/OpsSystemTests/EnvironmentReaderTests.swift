import Glibc
import OpsSystem
import TestSupport
import Testing

/// Reads of environments, some of which never end. A FIFO without a writer blocks a reader, as the lock of a process's
/// memory does.
@Suite struct EnvironmentReaderTests {
    let scratch: TemporaryDirectory
    var pipe: String { scratch.path + "/pipe" }

    init() throws {
        scratch = TemporaryDirectory()
        try #require(mkfifo(pipe, 0o600) == 0)
    }

    /// Reads an environment. On a busy machine, a read may take too long.
    private func read(_ pid: Int32, with reader: EnvironmentReader) throws -> [String] {
        let end = Clock.read().monotonic + .seconds(120)
        while true {
            if let environment = reader.environment(of: pid, uid: 1) { return environment }
            try #require(Clock.read().monotonic < end, "no environment was read")
            reader.endTurn()
            usleep(1000)
        }
    }

    @Test func `a process reads environments, also in later turns`() throws {
        let reader = EnvironmentReader()
        for _ in 0..<2 {
            #expect(try read(getpid(), with: reader) == ProcessRecord.environment(of: getpid()))
            reader.endTurn()
        }
        #expect(try read(Int32.max, with: reader).isEmpty)
    }

    @Test func `a read that blocks delays the processes of its user alone, for some time`() throws {
        let pipe = pipe
        var now = MonotonicInstant.zero
        let reader = EnvironmentReader(path: { $0 == 1 ? pipe : "/proc/\($0)/environ" }, now: { now })
        #expect(reader.environment(of: 1, uid: 1) == nil)
        #expect(!reader.canRead(uid: 1) && reader.canRead(uid: 2))
        #expect(reader.environment(of: getpid(), uid: 1) == nil, "no process of this user is read now")
        let end = Clock.read().monotonic + .seconds(60)
        // The reader that was killed must have ended, too.
        while !reader.canRead(uid: 1) {
            try #require(Clock.read().monotonic < end, "the user is never read again")
            reader.endTurn()
            now += .milliseconds(500)
        }
        #expect(now >= MonotonicInstant.zero + .seconds(2))
    }

    /// Without a bound for the sum, a user with many processes could delay the loop by just less than the longest read,
    /// again and again.
    @Test func `slow reads are bounded together`() throws {
        let script = "while :; do sleep 0.02; echo A=1 > $PIPE; done"
        let writer = try Spawn(
            arguments: ["/bin/sh", "-c", script], environment: CStringArray(["PATH=/usr/bin:/bin", "PIPE=\(pipe)"])
        ).start()
        let pipe = pipe
        let reader = EnvironmentReader(path: { _ in pipe })
        var reads = 0
        while reads < 100, reader.canRead(uid: 1) {
            _ = reader.environment(of: 1, uid: 1)
            reads += 1
        }
        kill(-writer, SIGKILL)
        _ = try Children.wait(for: writer)
        #expect(reads < 100)
    }
}

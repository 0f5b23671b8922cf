import Glibc
import OpsExecutor
import OpsSystem
import Testing

@testable import OpsRunner

/// Attempts of processes without control groups.
@Suite final class DescendantTrackerTests {
    private let directory: String

    init() throws {
        directory = "/tmp/ops-tracker-\(try Randomness.identifier().prefix(10))"
        try Files.makeDirectories(directory, mode: 0o700)
    }

    deinit { removeTree(directory) }

    /// Processes in sessions of their own, each the parent of the next one.
    private func startChain() throws -> (main: Int32, middle: Int32, sender: Int32) {
        let script = """
            setsid sh -c 'setsid sleep 1000 & echo $$ $! > $DIR/pids; wait' &
            wait
            """
        let spawn = Spawn(
            arguments: ["/bin/sh", "-c", script], environment: CStringArray(plainEnvironment + ["DIR=\(directory)"]))
        let main = try spawn.start()
        let end = Clock.read().monotonic + RunnerProcess.patience
        while true {
            let bytes = try Files.readIfPresent(directory + "/pids", limit: 64) ?? []
            let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            let pids = words.compactMap { Int32($0) }
            if bytes.last == UInt8(ascii: "\n"), pids.count == 2 { return (main, pids[0], pids[1]) }
            try #require(Clock.read().monotonic < end, "the processes did not start")
            usleep(1000)
        }
    }

    @Test func `a tree stays alive although a later main process has the number of its own`() {
        let older = AttemptID(OperationID(1), 1)
        let newer = AttemptID(OperationID(2), 1)
        var tracker = DescendantTracker()
        for attempt in [older, newer] { tracker.begin(attempt, main: 4711, socket: nil, uid: Identity.uid) }
        tracker.end(newer, main: 4711)
        #expect(!tracker.isEmpty)
        tracker.end(older, main: 4711)
        #expect(tracker.isEmpty)
    }

    /// While a process executes a program, it has no environment for a moment.
    @Test func `an orphan without an environment may belong to each tree of its user for a while`() throws {
        let attempts = [AttemptID(OperationID(1), 1), AttemptID(OperationID(2), 1)]
        var tracker = DescendantTracker()
        for attempt in attempts { tracker.begin(attempt, main: 1, socket: nil, uid: Identity.uid) }
        let orphan = try Spawn(arguments: ["/bin/sleep", "1000"], environment: CStringArray([])).start()
        try tracker.adopt([orphan], mains: [:]) { _ in false }
        #expect(attempts.allSatisfy { tracker.hasOrphan(of: $0) } && tracker.hasUnclearOrphans)
        let end = Clock.read().monotonic + RunnerProcess.patience
        while tracker.hasUnclearOrphans, Clock.read().monotonic < end {
            usleep(1000)
            try tracker.adopt([orphan], mains: [:]) { _ in false }
        }
        #expect(!attempts.contains { tracker.hasOrphan(of: $0) } && tracker.orphans.keys.contains(orphan))
        kill(orphan, SIGKILL)
        _ = try Children.wait(for: orphan)
    }

    @Test func `a limited number of orphans without an environment is looked at again`() throws {
        let attempts = [AttemptID(OperationID(1), 1), AttemptID(OperationID(2), 1)]
        var tracker = DescendantTracker()
        for attempt in attempts { tracker.begin(attempt, main: 1, socket: nil, uid: Identity.uid) }
        let orphans = try (0..<20).map { _ in
            try Spawn(arguments: ["/bin/sleep", "1000"], environment: CStringArray([])).start()
        }
        try tracker.adopt(orphans, mains: [:]) { _ in false }
        #expect(tracker.hasUnclearOrphans && tracker.orphans.count == 4)
        for orphan in orphans {
            kill(orphan, SIGKILL)
            _ = try Children.wait(for: orphan)
        }
    }

    /// A FIFO without a writer blocks its reader, as the lock of a process's memory does.
    @Test func `an orphan that cannot be read may belong to each tree of its user until it can be read`() throws {
        let pipe = directory + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        var isBlocked = true
        var now = MonotonicInstant.zero
        let environments = EnvironmentReader(
            path: { isBlocked ? pipe : "/proc/\($0)/environ" }, now: { now })
        let attempts = (1...4).map { AttemptID(OperationID($0), 1) }
        var tracker = DescendantTracker(environments: environments)
        for attempt in attempts[..<2] { tracker.begin(attempt, main: 1, socket: "/s", uid: Identity.uid) }
        tracker.begin(attempts[2], main: 2, socket: "/s", uid: Identity.uid + 1)
        let tag = ["OPS_ID=2", "OPS_ATTEMPT=1", "OPS_SOCKET=/s"]
        let orphans = try (0..<20).map { _ in
            try Spawn(arguments: ["/bin/sleep", "1000"], environment: CStringArray(tag)).start()
        }
        try tracker.adopt(orphans, mains: [:]) { _ in false }
        tracker.begin(attempts[3], main: 3, socket: "/s", uid: Identity.uid)
        #expect(attempts.map { tracker.hasOrphan(of: $0) } == [true, true, false, false])
        #expect(tracker.orphans.isEmpty && tracker.hasOnlyUnreadableOrphans, "no orphan counts as unknown")
        isBlocked = false
        let end = Clock.read().monotonic + RunnerProcess.patience
        while tracker.hasUnclearOrphans, Clock.read().monotonic < end {
            now += .seconds(1)
            tracker.endTurn()
            try tracker.adopt(orphans, mains: [:]) { _ in false }
        }
        #expect(attempts.map { tracker.hasOrphan(of: $0) } == [false, true, false, false])
        for orphan in orphans {
            kill(orphan, SIGKILL)
            _ = try Children.wait(for: orphan)
        }
    }

    @Test func `a sender and its ancestors are looked up once in a turn`() throws {
        let attempt = AttemptID(OperationID(1), 1)
        let (main, middle, sender) = try startChain()
        var tracker = DescendantTracker()
        tracker.begin(attempt, main: main, socket: nil, uid: Identity.uid)
        let found = try tracker.attempt(ofSender: sender, mains: [:])
        for pid in [sender, middle, main] { kill(pid, SIGKILL) }
        _ = try Children.wait(for: main)
        #expect(found == attempt)
        // Nobody could find them by a look at /proc any more.
        for pid in [sender, middle] {
            let remembered = try tracker.attempt(ofSender: pid, mains: [:])
            #expect(remembered == attempt)
        }
        tracker.forgetSenders()
        let later = try tracker.attempt(ofSender: sender, mains: [:])
        #expect(later == nil)
    }
}

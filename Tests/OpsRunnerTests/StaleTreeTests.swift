import Glibc
import OpsExecutor
import OpsSystem
import Testing

@testable import OpsRunner

/// Processes of an earlier runner.
@Suite final class StaleTreeTests {
    private let directory: String

    init() throws {
        directory = "/tmp/ops-stale-\(try Randomness.identifier().prefix(10))"
        try Files.makeDirectories(directory, mode: 0o700)
    }

    deinit { removeTree(directory) }

    /// A FIFO without a writer blocks its reader, as the lock of a process's memory does.
    @Test func `a process that cannot be read may belong to each stale tree of its user`() throws {
        let pipe = directory + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let own = StaleTree(socket: "/s", uid: Identity.uid, lookAt: .distantPast)
        let other = StaleTree(socket: "/s", uid: Identity.uid + 1, lookAt: .distantPast)
        let attempts = [AttemptID(OperationID(1), 1): own, AttemptID(OperationID(2), 1): other]
        // No process of the other user is read from the pipe.
        let users = try ProcessRecord.all().filter { record in
            try ProcessRecord.users(of: record.pid)?.environmentIsFrom(Identity.uid) == true
        }
        let pids = Set(users.map(\.pid))
        let environments = EnvironmentReader(path: { pids.contains($0) ? pipe : "/proc/\($0)/environ" })
        // This process is not of the earlier runner.
        let survivors = try Survivors(of: attempts, ours: 0, environments)
        #expect(survivors.mayLackProcess(of: own))
        #expect(!survivors.mayLackProcess(of: other))
        environments.endTurn()
    }
}

import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// The shutdown of a runner.
@Suite struct RunnerShutdownTests {
    /// Starts a runner with an operation that ignores SIGTERM, and begins its shutdown.
    private func ending() throws -> (RunnerProcess, slow: LaunchRequest) {
        let runner = try RunnerProcess()
        let slow = runner.request(
            1, "trap '' TERM; echo ready > $DIR/ready; while ! [ -e $DIR/go ]; do sleep 0.01; done")
        try runner.send([.launch(slow)])
        _ = try runner.awaitFile("ready")
        #expect(kill(runner.pid, SIGTERM) == 0)
        try runner.awaitEnding()
        return (runner, slow)
    }

    @Test func `a runner that is shutting down says so and starts nothing`() throws {
        let (runner, slow) = try ending()
        #expect(runner.greeting?.entries.map(\.attempt) == [slow.attempt])
        try runner.send([.launch(runner.request(2, "true"))])
        try runner.settle()
        #expect(runner.greeting?.isEnding == true)
        #expect(runner.greeting?.entries.map(\.attempt) == [slow.attempt])
        #expect(!runner.reports.contains { if case .failed = $0 { true } else { false } })
        // A daemon that connects only now is informed too.
        try runner.connect()
        #expect(runner.greeting?.isEnding == true)
        #expect(creat(runner.path("go"), 0o600) >= 0)
        #expect(try runner.awaitExit(slow.attempt).treeIsGone)
        try runner.send([.acknowledge(slow.attempt)])
        #expect(try runner.awaitEnd() == .code(0))
    }

    @Test func `a shutdown continues after a command to re-execute`() throws {
        let (runner, slow) = try ending()
        try runner.send([.reexecute])
        #expect(kill(runner.pid, SIGHUP) == 0)
        try runner.settle()
        #expect(creat(runner.path("go"), 0o600) >= 0)
        #expect(try runner.awaitExit(slow.attempt).treeIsGone)
        try runner.send([.acknowledge(slow.attempt)])
        #expect(try runner.awaitEnd() == .code(0))
    }

    @Test func `a runner whose state directory was removed does not disturb the next runner`() throws {
        let runner = try RunnerProcess()
        let old = runner.pid
        let slow = runner.request(
            1, "trap '' TERM; echo ready > $DIR/ready; while ! [ -e $DIR/go ]; do sleep 0.01; done")
        try runner.send([.launch(slow)])
        _ = try runner.awaitFile("ready")
        removeTree(runner.state)
        try Files.makePrivateDirectory(runner.state)
        try runner.start()
        #expect(creat(runner.path("go"), 0o600) >= 0)
        #expect(try Children.wait(for: old)?.status == .code(0))
        try runner.connect()
        let request = runner.request(2, "true")
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).treeIsGone)
    }

    @Test func `a runner whose state directory was moved does not disturb the next runner`() throws {
        let runner = try RunnerProcess()
        let old = runner.pid
        let moved = runner.state + ".moved"
        #expect(rename(runner.state, moved) == 0)
        defer { removeTree(moved) }
        try Files.makePrivateDirectory(runner.state)
        try runner.start()
        #expect(kill(old, SIGTERM) == 0)
        #expect(try Children.wait(for: old)?.status == .code(0))
        try runner.connect()
        let request = runner.request(1, "true")
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).treeIsGone)
    }
}

import Foundation
import OpsClient
import Synchronization
import Testing

/// OpsQueue and OpsOperation with a real daemon.
@Suite struct SwiftQueueTests {
    @Test func `dependencies across queues hold`() throws {
        let machine = try Machine()
        let first = try OpsQueue("first", socket: machine.socket)
        let second = try OpsQueue("second", socket: machine.socket)
        let log = machine.state + "/order"
        let early = OpsOperation(shell: "sleep 0.3; echo early >> \(log)")
        let late = OpsOperation(shell: "echo late >> \(log)")
        late.addDependency(early)
        try first.addOperation(early)
        try second.addOperation(late)
        try late.waitUntilFinished()
        #expect(early.isFinished && late.outcome == .succeeded)
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "early\nlate\n")
    }

    @Test func `a dependency that was not added is refused`() throws {
        let machine = try Machine()
        let queue = try OpsQueue(socket: machine.socket)
        let late = OpsOperation(["true"])
        late.addDependency(OpsOperation(["true"]))
        #expect(throws: ClientError.self) { try queue.addOperation(late) }
        #expect(late.id == nil && queue.operationCount == 0)
    }

    @Test func `an operation that is cancelled says so and calls its block`() throws {
        let machine = try Machine()
        let queue = try OpsQueue(socket: machine.socket)
        let finished = DispatchSemaphore(value: 0)
        let long = OpsOperation(["sleep", "600"], name: "long")
        long.completionBlock = { finished.signal() }
        try queue.addOperation(long)
        try machine.await("started", of: Int(try #require(long.id)))
        try long.cancel()
        #expect(long.isCancelled)
        #expect(finished.wait(timeout: .now() + 60) == .success)
        #expect(long.isFinished && long.outcome == .cancelled)
    }

    @Test func `an operation that was cancelled before it was added never runs`() throws {
        let machine = try Machine()
        let queue = try OpsQueue(socket: machine.socket)
        let mark = machine.state + "/mark"
        let never = OpsOperation(["touch", mark])
        try never.cancel()
        try queue.addOperation(never)
        try never.waitUntilFinished()
        #expect(never.outcome == .cancelled && !FileManager.default.fileExists(atPath: mark))
    }

    @Test func `cancelling all operations includes those that are skipped meanwhile`() throws {
        let machine = try Machine()
        let queue = try OpsQueue(socket: machine.socket)
        let operations = ["first", "second", "last"].map { OpsOperation(["true"], name: $0) }
        for operation in operations { operation.keys.isHeld = true }
        operations[1].addDependency(operations[0], when: .succeeded)
        try queue.addOperations(operations)
        try queue.cancelAllOperations()
        try queue.waitUntilAllOperationsAreFinished()
        #expect(operations.allSatisfy { $0.isFinished && $0.isCancelled })
        #expect(operations[0].outcome == .cancelled && operations[2].outcome == .cancelled)
        // An operation that has finished may be cancelled again.
        try operations[0].cancel()
        try queue.cancelAllOperations()
    }

    @Test func `operations that were cancelled before they were added may depend on each other`() throws {
        let machine = try Machine()
        let queue = try OpsQueue(socket: machine.socket)
        let operations = [OpsOperation(["true"], name: "first"), OpsOperation(["true"], name: "second")]
        operations[1].addDependency(operations[0], when: .succeeded)
        for operation in operations { try operation.cancel() }
        try queue.addOperations(operations, waitUntilFinished: true)
        #expect(operations.allSatisfy(\.isFinished) && operations[0].outcome == .cancelled)
    }

    @Test func `states are seen in their order`() async throws {
        let machine = try Machine()
        let queue = try OpsQueue(socket: machine.socket)
        let operation = OpsOperation(["true"])
        operation.keys.isHeld = true
        try queue.addOperation(operation)
        let states = operation.states
        try machine.ok("resume", "\(try #require(operation.id))")
        var seen: [OpsOperation.State] = []
        for await state in states { seen.append(state) }
        #expect(seen.last == .finished && seen.contains(.executing))
    }

    @Test func `a queue runs no more operations at a time than it may`() throws {
        let machine = try Machine(workers: 4)
        let queue = try OpsQueue("narrow", socket: machine.socket)
        try queue.setMaxConcurrentOperationCount(1)
        #expect(try queue.maxConcurrentOperationCount == 1)
        let lock = machine.state + "/narrow"
        let operations = (1...4).map { _ in OpsOperation(["flock", "-n", lock, "sleep", "0.1"]) }
        try queue.addOperations(operations, waitUntilFinished: true)
        #expect(operations.map(\.outcome) == Array(repeating: .succeeded, count: 4))
        #expect(queue.operationCount == 0)
    }

    @Test func `a suspended queue starts nothing`() throws {
        let machine = try Machine()
        let queue = try OpsQueue("still", socket: machine.socket)
        try queue.setSuspended(true)
        let operation = OpsOperation(["true"])
        try queue.addOperation(operation)
        #expect(try queue.isSuspended && machine.show(Int(try #require(operation.id)))["startedAt"] is NSNull)
        try queue.setSuspended(false)
        try queue.waitUntilAllOperationsAreFinished()
        #expect(operation.outcome == .succeeded)
    }

    @Test func `waiting outlives a restart of opsd`() throws {
        let machine = try Machine()
        let queue = try OpsQueue(socket: machine.socket)
        let operation = OpsOperation(shell: "while ! test -e '\(machine.state)/go'; do sleep 0.05; done")
        try queue.addOperation(operation)
        try machine.await("started", of: Int(try #require(operation.id)))
        try machine.killDaemon()
        _ = try machine.start()
        try Data().write(to: URL(fileURLWithPath: machine.state + "/go"))
        try operation.waitUntilFinished()
        #expect(operation.outcome == .succeeded)
    }

    @Test func `a graph runs, and its events come to tasks`() async throws {
        let machine = try Machine()
        let session = AsyncSession(path: machine.socket)
        let events = session.events(since: 0)
        var graph = OpsGraph("nightly")
        let dump = graph.add(["true"], name: "dump")
        let parts = graph.group("parts", limit: 1, after: [.init(dump)])
        graph.add(shell: "exit 3", name: "one", in: parts)
        graph.add(["true"], name: "tell", after: [.init(parts, .failed)])
        let reply = try await session.submit(graph)
        try await session.wait(for: (reply.first..<reply.first + Int64(reply.count)).map { $0 })
        var finished: [Int64: String] = [:]
        for try await event in events where event.type == .finished {
            if let id = event.id { finished[id] = event.outcome?.rawValue }
            if finished.count == reply.count { break }
        }
        #expect(finished.values.sorted() == ["failed", "failed", "succeeded", "succeeded"])
        #expect(try machine.show("tell")["outcome"] as? String == "succeeded")
    }

    @Test func `the pipeline goes on after it was killed`() throws {
        let machine = try Machine()
        func begin() throws -> Command {
            var environment = Machine.environment
            environment["OPS_SOCKET"] = machine.socket
            return try Command(
                Machine.programs + "/pipeline", ["run", "6"], environment: environment, in: machine.state)
        }
        let killed = try begin()
        try killed.until { $0.contains("operations 1 to 7") }
        killed.signal(SIGKILL)
        _ = try killed.wait()
        let again = try begin().wait()
        #expect(again.status == 0 && again.out.contains("operations 1 to 7") && again.out.contains("join succeeded"))
        #expect(try machine.ok("ls", "--state", "finished", "--json").out.split(separator: "\n").count == 7)
    }

    @Test func `the code of the page stands in programs that are tested`() throws {
        let page = try String(contentsOfFile: Checkout.path("docs/swift.md"), encoding: .utf8)
        let sources = try ["examples/pipeline/Pipeline.swift", "Tests/EndToEndTests/SwiftQueueTests.swift"].map {
            // Other programs find the socket, so the page leaves its path out.
            try String(contentsOfFile: Checkout.path($0), encoding: .utf8)
                .replacingOccurrences(of: "AsyncSession(path: machine.socket)", with: "AsyncSession()")
                .split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }
        }
        let blocks = page.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first?.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }
        }
        #expect(blocks.count == 2)
        for block in blocks { #expect(sources.contains { $0.contains(block) }, "\(block)") }
    }
}

import OpsCore
import OpsStore
import TestSupport
import Testing

@Suite struct CommitTests {
    /// Returns three operations: `build`, `test` after it, and `lint` in a category with a policy of its own.
    static func graph() -> SubmissionTexts {
        var policy = Policy()
        policy.timeout = .seconds(30)
        var scale = RetryScale()
        scale[.timeout] = 1500
        scale[.memory] = 2000
        policy.retry = RetryPolicy(limit: 3, exitCodes: [2, 75], scale: scale)
        policy.successCodes = [0, 4]
        policy.completion = .notify
        policy.leftovers = .leave
        policy.conditions = [
            ConditionPolicy(otherwise: .wait, every: .nanoseconds(5)), ConditionPolicy(otherwise: .skip),
        ]
        policy.observers = [.start, .finish]
        var submission = Submission()
        submission.user = 1000
        submission.queues = ["default", "main"]
        submission.categorySets = [[CategoryUse(name: "db", mode: .shared), CategoryUse(name: "gpu", units: 2)]]
        submission.policies = [policy]
        submission.operations = [
            Draft(priority: 4), Draft(queue: 1),
            Draft(categories: 0, policy: 0, priority: -100, flags: [.held, .barrier]),
        ]
        submission.edges = [DraftEdge(from: 1, on: .local(0)), DraftEdge(from: 1, on: .local(2), when: .finished)]
        return SubmissionTexts(
            submission, graphName: "nightly", gid: 100, user: "ada", key: "k1", details: [#"{"umask":18}"#],
            environments: [#"{"PATH":"/bin"}"#],
            particulars: [
                .init(name: "build", command: #"["make"]"#), .init(name: "test", command: #"["make","test"]"#),
                .init(command: #"["make"]"#),
            ])
    }

    @Test func `texts are hashed with a secret of their database, and found again after a restart`() throws {
        let hashes = "SELECT hash FROM text WHERE hash IS NOT NULL ORDER BY id"
        let (one, other) = (try World(), try World())
        for world in [one, other] {
            world.submit(Self.graph())
            try world.commit()
        }
        let stored = try Raw(one.store.path).texts(hashes)
        #expect(stored.count == 2)
        #expect(try Raw(other.store.path).texts(hashes) != stored)
        try one.reopen()
        one.submit(Self.graph())
        try one.commit()
        #expect(try Raw(one.store.path).texts(hashes) == stored)
    }

    /// Hashes are stored: with other ones, the texts of older databases would not be found.
    @Test func `a text is hashed with SipHash-1-3`() throws {
        let world = try World()
        try Raw(world.store.path).run("UPDATE meta SET textKeyLow = 3, textKeyHigh = 5")
        try world.reopen()
        world.submit(Self.graph())
        try world.commit()
        let hash = try Raw(world.store.path).integer(#"SELECT hash FROM text WHERE body = '{"PATH":"/bin"}'"#)
        #expect(hash == 7_776_875_647_648_567_805, "computed by another implementation")
    }

    @Test func `texts with the same characters in other bytes are stored as they are`() throws {
        let world = try World()
        var submission = Submission()
        submission.operations = [Draft(), Draft()]
        let names = ["\u{e9}", "e\u{301}"]
        let details = names.map { #"{"directory":"/\#($0)"}"# }
        world.submit(
            SubmissionTexts(
                submission, user: "ada", details: details,
                particulars: names.enumerated().map { .init(command: #"["rm","\#($1)"]"#, details: Int32($0)) }))
        try world.commit()
        let stored = try Raw(world.store.path).texts(
            "SELECT hex(c.body) || hex(d.body) FROM operation o JOIN text c ON c.id = command JOIN text d ON d.id = details"
        )
        #expect(Set(stored).count == 2)
        #expect(stored.allSatisfy { ($0.contains("C3A9") ? 1 : 0) + ($0.contains("65CC81") ? 1 : 0) == 1 })
    }

    /// A list in the condition of a partial index did, for each operation that was stored or ended.
    @Test(arguments: [
        "INSERT INTO operation (id, state, flags, priority, queue, details, environment) VALUES (1, 0, 0, 0, 1, 1, 1)",
        "UPDATE operation SET state = 3, outcome = 0, finishedAt = 1, root = 1 WHERE id = 1",
    ])
    func `no temporary table is built to write an operation`(sql: String) throws {
        let world = try World()
        let opcodes = try Raw(world.store.path).texts("EXPLAIN \(sql)", column: 1)
        #expect(opcodes.contains("Halt"))
        #expect(!opcodes.contains("OpenEphemeral"))
    }

    /// The disk can fail between two launches of one read transaction. The snapshot is then loaded within it.
    @Test func `a snapshot can be loaded while a read transaction is open`() throws {
        let world = try World()
        world.submit(Self.graph())
        try world.commit()
        try world.store.beginReading()
        #expect(try world.store.load().operations.count == 3)
        world.store.endReading()
        #expect(try world.store.load().operations.count == 3)
    }

    @Test func `no operation becomes ready after its start`() throws {
        let world = try World()
        world.submit(Self.graph())
        try world.commit()
        // The runner has started 2 before opsd handled the end of 1.
        var early = world.moment
        early.wall = world.now - .milliseconds(20)
        let two = OperationID(2)
        world.change(
            .becameReady(two, at: world.now), .started(two, attempt: 1, run: 1, slot: 0, runner: "r", at: early))
        try world.commit()
        let record = try #require(try world.history().record(of: two))
        #expect(record.readyAt == early.wall && record.startedAt == early.wall)
    }

    @Test func `a submission is loaded as it was stored`() throws {
        let world = try World()
        world.submit(Self.graph())
        try world.commit()
        try world.reopen()
        let snapshot = try world.store.load()
        #expect(snapshot.nextOperation == 4)
        #expect(snapshot.nextGraph == 2)
        #expect(snapshot.lastSequence == 3)
        #expect(snapshot.operations.map(\.id.rawValue) == [1, 2, 3])
        #expect(snapshot.operations.map(\.graph.rawValue) == [1, 1, 1])
        #expect(snapshot.operations.map(\.state) == [.ready, .pending, .ready])
        #expect(snapshot.operations.map(\.priority) == [4, 0, -100])
        #expect(snapshot.operations.map { snapshot.queues[Int($0.queue)].name } == ["default", "main", "default"])
        #expect(snapshot.operations[2].flags == [.held, .barrier])
        #expect(snapshot.operations[0].submittedAt == .zero + .seconds(1_700_000_000))
        #expect(snapshot.operations[0].readyAt == .zero + .seconds(1_700_000_000))
        #expect(snapshot.operations[1].readyAt == .zero)
        let lint = snapshot.operations[2]
        #expect(lint.policy.map { snapshot.policies[Int($0)] } == Self.graph().submission.policies[0])
        #expect(lint.categories.map { snapshot.categorySets[Int($0)] } == Self.graph().submission.categorySets[0])
        #expect(snapshot.operations[0].policy == nil && snapshot.operations[0].categories == nil)
        #expect(snapshot.edges.map { [$0.from.rawValue, $0.on.rawValue] } == [[2, 1], [2, 3]])
        #expect(snapshot.edges.map(\.when) == [.succeeded, .finished])
    }

    @Test func `the texts of an operation are read at its launch`() throws {
        let world = try World()
        let first = world.submit(Self.graph())
        try world.commit()
        let texts = try #require(try world.store.texts(of: OperationID(first.rawValue + 1)))
        #expect(
            texts
                == LaunchTexts(
                    name: "test", graph: GraphID(1), queue: "main",
                    command: #"["make","test"]"#, details: #"{"umask":18}"#, environment: #"{"PATH":"/bin"}"#,
                    uid: 1000, gid: 100, user: "ada", hasDependencies: true))
        #expect(try world.store.texts(of: OperationID(99)) == nil)
    }

    @Test func `operations get the texts that they share and no others`() throws {
        let world = try World()
        var submission = Submission()
        submission.user = 7
        submission.queues = ["main"]
        submission.operations = [Draft()]
        let other = SubmissionTexts(
            submission, user: "eve", details: [#"{"umask":63}"#],
            particulars: [.init(name: "other", command: "[]")])
        let operations = [world.submit(Self.graph()), world.submit(other)]
        try world.commit()
        let history = try world.history()
        for operation in [0, 0, 1, 1, 0].map({ operations[$0] }) {
            let texts = try #require(try world.store.texts(of: operation))
            #expect(try history.texts(of: operation) == texts)
            let isOther = operation == operations[1]
            #expect(texts.name == (isOther ? "other" : "build"))
            #expect(texts.graph == GraphID(isOther ? 2 : 1))
            #expect([texts.queue, texts.user] == (isOther ? ["main", "eve"] : ["default", "ada"]))
            #expect(texts.details == (isOther ? #"{"umask":63}"# : #"{"umask":18}"#))
            #expect(texts.environment == (isOther ? "{}" : #"{"PATH":"/bin"}"#))
        }
    }

    @Test func `an executing operation is loaded with its attempt`() throws {
        let world = try World()
        let first = world.submit(Self.graph())
        world.start(first, slot: 3)
        let started = world.moment
        let attempt = AttemptID(first, 1)
        try world.commit()
        let process = LaunchedProcess(pid: 77, startTicks: 12345, at: world.moment)
        let exit = ProcessExit(
            status: .signal(9), outOfMemory: true,
            usage: ProcessUsage(userMicroseconds: 1, systemMicroseconds: 2, maxResidentBytes: 3), at: world.moment)
        world.change(
            .launched(attempt, process), .timeoutMoved(attempt, remaining: .nanoseconds(5)), .exited(attempt, exit),
            .cancelling(first, by: "root", reason: "x", outcome: .timedOut, .ranLongerThan(.nanoseconds(7))))
        try world.commit()
        try world.reopen(boot: "boot-2")
        let running = try #require(try world.store.load().running.first)
        #expect(running.attempt == attempt)
        #expect(running.slot == 3)
        #expect(running.runner == "runner-1")
        #expect(running.boot == "boot-1")
        #expect(running.startedAt == started)
        #expect(running.process == process)
        #expect(running.exit == exit)
        #expect(running.timeoutRemaining == .nanoseconds(5))
        #expect(running.resolution?.outcome == .timedOut)
        #expect(running.resolution?.cause == .ranLongerThan(.nanoseconds(7)))
        #expect(!running.isOver)
    }

    @Test func `an executing group is loaded with its start on both clocks`() throws {
        let world = try World()
        var policy = Policy()
        policy.timeout = .seconds(60)
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [Draft(policy: 0, flags: .group), Draft(group: 0)]
        let group = world.submit(SubmissionTexts(submission, particulars: [.init(command: ""), .init(command: "[]")]))
        let started = world.moment
        world.change(.started(group, attempt: 0, run: 1, slot: nil, runner: "", at: started))
        try world.commit()
        try world.reopen(boot: "boot-2")
        let snapshot = try world.store.load()
        let running = try #require(snapshot.running.first)
        #expect(running.attempt == AttemptID(group, 0))
        #expect(running.startedAt == started)
        #expect(running.boot == "boot-1" && snapshot.boot == "boot-2")
    }

    @Test(
        arguments: [
            .unknown, .operation, .queue, .graph, .daemon, [.operation, .daemon], [.unknown, .queue],
            [.operation, .queue, .graph, .daemon],
        ] as [FreezingLevels])
    func `an operation is loaded with the levels that have frozen it`(levels: FreezingLevels) throws {
        let world = try World()
        let first = world.submit(Self.graph())
        world.start(first)
        world.change(.frozen(first, by: levels))
        try world.commit()
        try world.reopen()
        let none: FreezingLevels = []
        #expect(try world.store.load().operations.map(\.frozenBy) == [levels, none, none])
        let frozen = "SELECT frozen FROM operations WHERE id = \(first.rawValue)"
        #expect(try Raw(world.store.path).integer(frozen) == 1, "readers of the view need not know the levels")
        #expect(try world.history().record(of: first)?.isFrozen == true)
        var selection = Selection()
        selection.standings = [.frozen]
        #expect(try world.history().select(selection, limit: 9) == [first])
        world.change(.frozen(first, by: []))
        try world.commit()
        #expect(try world.store.load().operations.map(\.frozenBy) == [none, none, none])
        #expect(try Raw(world.store.path).integer(frozen) == 0)
    }

    @Test func `an operation that an earlier version froze is loaded with unknown levels`() throws {
        let world = try World()
        let first = world.submit(Self.graph())
        world.start(first)
        try world.commit()
        try Raw(world.store.path).run("UPDATE operation SET frozen = 1 WHERE id = \(first.rawValue)")
        #expect(try world.store.load().operations.first?.frozenBy == .unknown)
    }

    @Test func `a queue that is added again has no setting of the removed one`() throws {
        let world = try World()
        world.change(
            .queueSet("q", limit: 2, aging: .seconds(60), suspended: true, order: .longestPath),
            .queueFairnessSet("q", isFair: true), .queueExecutorSet("q", executor: "slurm"))
        try world.commit()
        world.change(.queueRemoved("q"))
        try world.commit()
        world.change(.queueSet("q", limit: nil, aging: nil, suspended: false, order: .submission))
        try world.commit()
        try world.reopen()
        let queue = try #require(try world.store.load().queues.first { $0.name == "q" })
        #expect(!queue.isFair && queue.executor == nil)
        #expect(queue.limit == nil && queue.aging == nil && !queue.isSuspended && queue.order == .submission)
    }

    @Test func `a finished operation leaves the snapshot with its edges`() throws {
        let world = try World()
        let first = world.submit(Self.graph())
        world.start(first)
        world.end(first)
        try world.commit()
        let snapshot = try world.store.load()
        #expect(snapshot.operations.map(\.id.rawValue) == [2, 3])
        #expect(snapshot.edges.map(\.on.rawValue) == [3])
        #expect(snapshot.nextOperation == 4)
    }

    @Test(arguments: [0, 1] as [Int32])
    func `an assumed start is loaded with the dependency that failed meanwhile`(code: Int32) throws {
        let world = try World()
        var submission = Submission()
        submission.operations = [Draft(), Draft()]
        submission.edges = [DraftEdge(from: 1, on: .local(0), when: .succeeded)]
        let first = world.submit(
            SubmissionTexts(submission, particulars: [.init(command: "[]"), .init(command: "[]")]))
        let second = AttemptID(OperationID(2), 1)
        world.start(first)
        world.change(.staged(second, runner: "runner-1"))
        try world.commit()
        world.change(.assumedStarted(second, run: 1, slot: 1, at: world.moment))
        world.end(first, code: code)
        try world.commit()
        try world.reopen()
        let snapshot = try world.store.load()
        #expect(snapshot.operations.map(\.id) == [second.operation])
        #expect(snapshot.staged.map(\.attempt) == [second])
        guard code != 0 else { return #expect(snapshot.edges.isEmpty && snapshot.finished.isEmpty) }
        #expect(snapshot.edges.map(\.on) == [first])
        #expect(snapshot.finished == [first: FinishedFact(outcome: .failed, root: first, hasStarted: true)])
        // The second operation waits again for a retry of the first one if its start is undone.
        world.change(.reopened(first, run: 2, .ready))
        try world.commit()
        try world.reopen()
        #expect(try world.store.load().edges.map(\.on) == [first])
    }

    @Test func `events after a sequence number are read in order`() throws {
        let world = try World()
        let first = world.submit(Self.graph())
        try world.commit()
        world.turn.reports.append(
            Report(
                sequence: 4, kind: .finished, operation: first, graph: GraphID(1), old: .executing, new: .finished,
                product: OperationID(9), outcome: .skipped, at: .zero + .nanoseconds(12), detail: "d"))
        try world.commit()
        let history = try world.history()
        #expect(try history.events(after: 0, limit: 10).map(\.sequence) == [1, 2, 3, 4])
        #expect(try history.events(after: 1, limit: 2).map(\.sequence) == [2, 3])
        let last = try #require(try history.events(after: 3, limit: 10).first)
        #expect(last.kind == .finished && last.old == .executing && last.new == .finished)
        #expect(
            last.product == OperationID(9) && last.outcome == .skipped && last.at == .zero + .nanoseconds(12)
                && last.detail == "d")
    }

    @Test func `a second store on the same directory is refused`() throws {
        let world = try World()
        let error = #expect(throws: StoreError.self) {
            try Store.open(directory: world.directory.path, boot: "boot-1")
        }
        #expect(error?.kind == .busy)
    }

    @Test func `a dependency that is added again must be met again`() throws {
        let world = try World()
        var submission = Submission()
        submission.operations = [Draft(), Draft(flags: .held)]
        submission.edges = [DraftEdge(from: 1, on: .local(0), when: .finished)]
        world.submit(SubmissionTexts(submission, particulars: [.init(command: "[]"), .init(command: "[]")]))
        world.start(OperationID(1))
        world.end(OperationID(1))
        world.change(.becameReady(OperationID(2), at: world.now))
        try world.commit()
        world.change(.reopened(OperationID(1), run: 2, .ready))
        try world.commit()
        #expect(try world.store.load().edges.isEmpty, "an operation whose dependency is satisfied keeps that")
        world.change(.edgeAdded(OperationID(2), on: OperationID(1), .finished), .becamePending(OperationID(2)))
        try world.commit()
        #expect(try world.store.load().edges.map(\.on) == [OperationID(1)])
    }
}

import OpsCore
import OpsStore
import Testing

@Suite struct HistoryTests {
    private func ids(_ numbers: Int64...) -> [OperationID] { numbers.map { OperationID($0) } }

    /// Returns a graph of named operations, each with dependencies given by index.
    private func chain(_ names: [String], _ after: [[Int32]], details: String = "{}", user: String = "root")
        -> SubmissionTexts
    {
        var submission = Submission()
        submission.operations = names.map { _ in Draft() }
        for (from, places) in after.enumerated() {
            submission.edges += places.map { DraftEdge(from: Int32(from), on: .local($0)) }
        }
        return SubmissionTexts(
            submission, user: user, details: [details],
            particulars: names.map { .init(name: $0, command: #"["true"]"#) })
    }

    @Test func `a record contains everything about an operation`() throws {
        let world = try World()
        let first = world.submit(CommitTests.graph())
        world.start(first, slot: 2)
        world.change(
            .updated(
                AttemptID(first, 1), OperationUpdate(status: "half", progressDone: 1, progressTotal: 2, result: "r")),
            .updated(AttemptID(first, 1), OperationUpdate(progressDone: 2)))
        world.end(first, code: 2)
        try world.commit()
        let record = try #require(try world.history().record(of: first))
        #expect(record.name == "build" && record.graphName == "nightly" && record.queue == "default")
        #expect(record.state == .finished && record.outcome == .failed && record.cause == "exit status 2")
        #expect(record.command == #"["make"]"# && record.details == #"{"umask":18}"#)
        #expect(record.attempt == 1 && record.exitCode == 2 && record.signal == nil)
        #expect(record.user == "ada" && record.uid == 1000 && record.key == "k1")
        #expect(record.progressDone == 2 && record.progressTotal == 2)
        #expect(record.statusText == "half" && record.result == "r")
        #expect(record.startedAt != nil && record.finishedAt != nil && record.usage != nil)
        let history = try world.history()
        let test = try #require(try history.record(of: OperationID(2)))
        #expect(test.dependencies.map(\.id.rawValue) == [1, 3])
        #expect(test.dependencies.map(\.isSatisfied) == [false, false])
        let lint = try #require(try history.record(of: OperationID(3)))
        #expect(lint.isHeld && lint.isBarrier && !lint.isGroup)
        #expect(lint.policy == CommitTests.graph().submission.policies[0])
        #expect(lint.categories == CommitTests.graph().submission.categorySets[0])
        #expect(try history.attempts(of: first).map(\.cause) == ["exit status 2"])
        #expect(try history.environment(of: first) == #"{"PATH":"/bin"}"#)
        #expect(try history.record(of: OperationID(4)) == nil)
        #expect(try history.counts() == [.pending: 1, .ready: 1, .finished: 1])
        #expect(try world.store.load().operations.count == 2 && world.store.finishedWhenLoaded == 1)
    }

    @Test func `a list contains the same records as single requests`() throws {
        let world = try World()
        for number in 1...3 {
            let first = world.submit(CommitTests.graph())
            if number == 2 { world.start(first) }
            let details = #"{"n":\#(number)}"#
            world.submit(chain(["a", "b", "c"], [[], [0], [0, 1]], details: details, user: "u\(number)"))
        }
        try world.commit()
        let history = try world.history()
        // With gaps, and with some ids that do not exist.
        let wanted = ids(1, 2, 3, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 40)
        let listed = try history.records(of: wanted)
        #expect(listed.map(\.id) == wanted.dropLast(2))
        for record in listed {
            let alone = try #require(try history.record(of: record.id))
            #expect("\(record)" == "\(alone)")
        }
        #expect(Set(listed.map(\.user)).count == 4 && listed.contains { $0.dependencies.count == 2 })
    }

    @Test func `a selection returns the operations that match all its members`() throws {
        let world = try World()
        world.submit(chain(["a", "b", "c"], [[], [0], [1]], details: #"{"labels":{"os":"linux"}}"#))
        world.submit(chain(["a", "d"], [[], []], user: "ada"))
        world.start(OperationID(1))
        world.end(OperationID(1))
        try world.commit()
        let history = try world.history()
        var all = Selection()
        #expect(try history.select(all, limit: 10) == ids(1, 2, 3, 4, 5))
        #expect(try history.select(all, after: OperationID(2), limit: 2) == ids(3, 4))
        #expect(try history.selectNewest(all, limit: 2) == ids(5, 4))
        all.ids = [4...9, 1...2, 2...2]
        #expect(try history.select(all, limit: 10) == ids(1, 2, 4, 5))
        #expect(try history.selectNewest(all, limit: 3) == ids(5, 4, 2))
        var chosen = Selection()
        chosen.graph = GraphID(1)
        #expect(try history.select(chosen, after: OperationID(1), limit: 10) == ids(2, 3))
        chosen.state = .pending
        #expect(try history.selectNewest(chosen, limit: 1) == ids(3))
        var labelled = Selection()
        labelled.labels = ["os": "linux"]
        labelled.outcome = .succeeded
        #expect(try history.select(labelled, limit: 10) == ids(1))
        labelled.outcome = nil
        labelled.isUnsuccessful = true
        #expect(try history.select(labelled, limit: 10).isEmpty)
        var users = Selection()
        users.user = "ada"
        users.queue = "default"
        #expect(try history.select(users, limit: 10) == ids(4, 5))
    }

    @Test func `a name means the newest operation of that name`() throws {
        let world = try World()
        world.submit(chain(["a", "b"], [[], []]))
        world.submit(chain(["a", "ab"], [[], []]))
        try world.commit()
        let history = try world.history()
        #expect(try history.newest(named: "a", for: 0) == OperationID(3))
        #expect(try history.newest(named: "a", in: GraphID(1)) == OperationID(1))
        #expect(try history.newest(named: "b", in: GraphID(2)) == nil)
        #expect(try history.operationNames(prefix: "a", limit: 9) == ["ab", "a"])
        #expect(try history.names(of: ids(1, 4, 9)) == [OperationID(1): "a", OperationID(4): "ab"])
    }

    @Test func `a key finds its submission`() throws {
        let world = try World()
        let first = world.submit(CommitTests.graph())
        try world.commit()
        let found = try #require(try world.history().submission(key: "k1", uid: 1000))
        #expect(found.graph == GraphID(1) && found.first == first && found.count == 3 && found.isUnfinished)
        #expect(try world.history().submission(key: "k1", uid: 0) == nil)
        #expect(try world.history().newestGraph(named: "nightly", for: 0) == GraphID(1))
        #expect(try world.history().graph(GraphID(1))?.count == 3)
    }

    @Test func `a submission with a key is unfinished until the last of its own operations has ended`() throws {
        let world = try World()
        world.submit(CommitTests.graph())
        world.submit(chain(["a"], [[]]))
        func isUnfinished() throws -> Bool? {
            try world.commit()
            return try world.history().submission(key: "k1", uid: 1000)?.isUnfinished
        }
        for id in ids(1, 2) { finish(world, id) }
        #expect(try isUnfinished() == true)
        finish(world, OperationID(3))
        #expect(try isUnfinished() == false)
    }

    @Test func `a key counts as used by its own user and from its submission on`() throws {
        let world = try World()
        world.submit(chain(["a"], [[]]))
        let first = world.submit(CommitTests.graph())
        try world.commit()
        let history = try world.history()
        #expect(try history.hasSubmission(keys: ["k0", "k1"], uid: 1000, from: OperationID(1)))
        #expect(try history.hasSubmission(keys: ["k0", "k1"], uid: 1000, from: first))
        #expect(try !history.hasSubmission(keys: ["k0", "k1"], uid: 1000, from: OperationID(first.rawValue + 1)))
        #expect(try !history.hasSubmission(keys: ["k0"], uid: 1000, from: first))
        #expect(try !history.hasSubmission(keys: ["k1"], uid: 0, from: first))
    }

    @Test func `an attempt has a main process from its launch to its exit`() throws {
        let world = try World()
        let first = world.submit(CommitTests.graph())
        let attempt = AttemptID(first, 1)
        world.start(first)
        func pid() throws -> Int32? {
            try world.commit()
            let history = try world.history()
            let record = try #require(try history.record(of: first))
            return try history.pid(of: record)
        }
        #expect(try pid() == nil)
        world.change(.launched(attempt, LaunchedProcess(pid: 77, startTicks: 8, at: world.moment)))
        #expect(try pid() == 77)
        world.change(.exited(attempt, ProcessExit(status: .code(0), at: world.moment)))
        #expect(try pid() == nil)
    }

    @Test func `a brief has the submitter, the state and the kind of an operation`() throws {
        let world = try World()
        var texts = chain(["g", "k"], [], details: #"{"umask":18}"#)
        texts.submission.user = 7
        texts.submission.operations[0].flags = .group
        texts.submission.operations[1].group = 0
        texts.submission.operations[1].flags = .barrier
        let group = world.submit(texts)
        world.start(OperationID(2))
        try world.commit()
        let history = try world.history()
        let outer = try #require(try history.brief(of: group))
        #expect(outer.isGroup && outer.state == .ready && outer.attempt == 0)
        let inner = try #require(try history.brief(of: OperationID(2)))
        #expect(!inner.isGroup && inner.state == .executing && inner.attempt == 1)
        #expect(inner.uid == 7 && inner.details == #"{"umask":18}"#)
        #expect(try history.brief(of: OperationID(3)) == nil)
    }

    @Test func `each node has the instant of its own submission`() throws {
        let world = try World()
        let early = world.now
        world.submit(chain(["a", "b"], [[], [0]]))
        try world.commit()
        let late = world.now
        world.submit(chain(["c"], [[]]))
        try world.commit()
        let nodes = try world.history().nodes(of: ids(3, 1, 2, 9))
        #expect(nodes.map(\.id) == ids(3, 1, 2) && nodes.map(\.name) == ["c", "a", "b"])
        #expect(nodes.map(\.submittedAt) == [late, early, early])
        #expect(nodes.map(\.state) == [.ready, .ready, .pending])
    }

    @Test func `a search for names examines a limited number of them`() throws {
        let world = try World()
        for name in ["c", "a", "b"] {
            var submission = Submission()
            submission.operations = [Draft()]
            world.submit(
                SubmissionTexts(submission, graphName: "g" + name, particulars: [.init(name: name, command: "[]")]))
        }
        try world.commit()
        let history = try world.history()
        #expect(try history.operationNames(prefix: "", limit: 9, looked: 1) == ["a"])
        #expect(try history.operationNames(prefix: "", limit: 9, looked: 2) == ["b", "a"], "the newest first")
        #expect(try history.operationNames(prefix: "", limit: 9, looked: 3) == ["b", "a", "c"])
        #expect(try history.graphNames(prefix: "g", limit: 9, looked: 2) == ["gb", "ga"])
        #expect(try history.graphNames(prefix: "g", limit: 1) == ["gb"])
    }

    @Test func `a false condition is named in the cause of its operation`() throws {
        let world = try World()
        let details = #"{"conditions":[{"pathExists":"/x","otherwise":"skip"}]}"#
        world.submit(chain(["a", "b"], [[], []], details: details))
        world.change(
            .finished(OperationID(1), .skipped, .conditionFalse(index: 0, detail: ""), at: world.now),
            .finished(OperationID(2), .skipped, .conditionFalse(index: 1, detail: ""), at: world.now))
        try world.commit()
        let history = try world.history()
        #expect(try history.record(of: OperationID(1))?.cause == "condition 1 (pathExists /x) is false")
        #expect(try history.record(of: OperationID(2))?.cause == "condition 2 is false", "it has one condition")
    }

    @Test func `an approval and a rejection with the same message have different causes in one turn`() throws {
        let world = try World()
        world.submit(chain(["a", "b", "c"], []))
        let cause = Cause.finishedBy("ada", message: "seen")
        let outcomes: [Outcome] = [.succeeded, .failed, .succeeded]
        for (id, outcome) in zip(ids(1, 2, 3), outcomes) {
            world.change(.finished(id, outcome, cause, at: world.now))
        }
        try world.commit()
        #expect(
            try world.history().records(of: ids(1, 2, 3)).map(\.cause) == [
                "approved by ada: seen", "rejected by ada: seen", "approved by ada: seen",
            ])
    }

    @Test func `a cause is described as it is in its own turn`() throws {
        let world = try World()
        world.submit(chain(["a", "b"], [[], [0]]))
        let (root, other) = (OperationID(1), OperationID(2))
        func causeOfSkip() throws -> String? {
            world.change(.finished(other, .notNeeded, .dependency(root: root, .succeeded), at: world.now))
            try world.commit()
            return try world.history().record(of: other)?.cause
        }
        world.change(.finished(root, .succeeded, .upToDate, at: world.now))
        #expect(try causeOfSkip() == "dependency 1 (a) is up to date")
        world.change(.reopened(root, run: 2, .ready), .reopened(other, run: 2, .pending))
        try world.commit()
        world.change(.finished(root, .succeeded, nil, at: world.now))
        #expect(try causeOfSkip() == "dependency 1 (a) succeeded")
    }

    @Test func `a retry reopens the operations that were skipped because of it`() throws {
        let world = try World()
        world.submit(chain(["a", "b", "c", "d"], [[], [0], [1], []]))
        let root = OperationID(1)
        world.start(root)
        world.end(root, code: 1)
        let cause = Cause.dependency(root: root, .failed)
        world.change(
            .finished(OperationID(2), .skipped, cause, at: .zero + .nanoseconds(1)),
            .finished(OperationID(3), .skipped, cause, at: .zero + .nanoseconds(1)))
        world.start(OperationID(4))
        world.end(OperationID(4), code: 1)
        try world.commit()
        let history = try world.history()
        #expect(try history.record(of: OperationID(3))?.cause == "dependency 1 (a) failed")
        let revival = try history.revival(of: [root], downstream: false)
        #expect(revival.operations.map(\.id.rawValue) == [1, 2, 3])
        #expect(revival.operations.map(\.state) == [.finished, .finished, .finished])
        #expect(revival.edges.map { [$0.from.rawValue, $0.on.rawValue] } == [[2, 1], [3, 2]])
        #expect(revival.queues == ["default"] && revival.finished.isEmpty)
        let middle = try history.revival(of: [OperationID(3)], downstream: false)
        #expect(middle.operations.map(\.id.rawValue) == [3])
        #expect(
            middle.finished == [
                OperationID(2): FinishedFact(outcome: .skipped, root: root, hasStarted: false, rootOutcome: .failed)
            ])
    }

    @Test func `dependents are found across submissions`() throws {
        let world = try World()
        world.submit(chain(["a", "b"], [[], [0]]))
        var later = chain(["x"], [[]])
        later.submission.edges = [DraftEdge(from: 0, on: .existing(OperationID(2)))]
        world.submit(later)
        for id in ids(1, 2, 3) {
            world.start(id)
            world.end(id)
        }
        try world.commit()
        let history = try world.history()
        #expect(try history.revival(of: ids(1), downstream: true).operations.map(\.id.rawValue) == [1, 2, 3])
        #expect(try history.revival(of: ids(1), downstream: false).operations.map(\.id.rawValue) == [1])
    }

    @Test func `a retry holds no edges of other submissions in memory`() throws {
        let world = try World()
        world.submit(chain(["a", "b"], [[], [0]]))
        for id in ids(1, 2) { finish(world, id) }
        try world.commit()
        func heldBytes() throws -> Int {
            let history = try world.history()
            var reader = RevivalReader(ids(1), downstream: true)
            while try reader.proceed(history) == nil {}
            return reader.heldBytes
        }
        let alone = try heldBytes()
        world.submit(chain(["c", "d"], [[], [0]]))
        try world.commit()
        #expect(try heldBytes() == alone)
    }

    @Test func `a child reopens its group and a group its failed children`() throws {
        let world = try World()
        var texts = chain(["g", "x", "y", "z"], [])
        texts.submission.operations[0].flags = .group
        for place in 1...3 { texts.submission.operations[place].group = 0 }
        let group = world.submit(texts)
        world.change(.started(group, attempt: 0, run: 1, slot: nil, runner: "", at: world.moment))
        for (id, code) in zip(ids(2, 3, 4), [1, 1, 0] as [Int32]) {
            world.start(id)
            world.end(id, code: code)
        }
        world.change(.finished(group, .failed, .children(first: OperationID(2), count: 2), at: world.now))
        try world.commit()
        let history = try world.history()
        #expect(try history.record(of: group)?.cause == "child 2 (x) failed and 1 more did not succeed")
        #expect(try history.revival(of: [group], downstream: false).operations.map(\.id.rawValue) == [1, 2, 3])
        let child = try history.revival(of: ids(3), downstream: false)
        #expect(child.operations.map(\.id.rawValue) == [1, 3])
        #expect(child.endedChildren.map(\.unsuccessful) == [1])
        #expect(child.endedChildren.map(\.firstUnsuccessful.rawValue) == [2])
    }

    @Test func `a child of a skipped group keeps the root of the skip, and returns once when that is retried`() throws {
        let world = try World()
        var texts = chain(["b", "g", "k"], [[], [0]])
        texts.submission.operations[1].flags = .group
        texts.submission.operations[2].group = 1
        let root = world.submit(texts)
        world.start(root)
        world.end(root, code: 1)
        let because = Cause.Root(root, .failed)
        world.change(
            .finished(OperationID(3), .skipped, .groupSkipped(OperationID(2), because: because), at: world.now),
            .finished(OperationID(2), .skipped, .dependency(root: root, .failed), at: world.now))
        try world.commit()
        let history = try world.history()
        #expect(try history.record(of: OperationID(3))?.cause == "group 2 (g) was skipped: dependency 1 (b) failed")
        let fact = FinishedFact(outcome: .skipped, root: root, hasStarted: false, rootOutcome: .failed)
        #expect(try history.finishedFacts(ids(3)) == [OperationID(3): fact])
        let revival = try history.revival(of: [root], downstream: false)
        #expect(revival.operations.map(\.id.rawValue) == [1, 2, 3])
        #expect(revival.endedChildren.isEmpty, "no child stays finished")
        world.change(.reopened(root, run: 2, .ready))
        try world.commit()
        let own = FinishedFact(outcome: .skipped, root: OperationID(3), hasStarted: false)
        #expect(try history.finishedFacts(ids(3)) == [OperationID(3): own], "its root has no outcome any more")
    }

    @Test func `a group that was up to date returns with its children, and is named as their cause`() throws {
        let world = try World()
        var texts = chain(["g", "k", "later"], [[], [], [1]])
        texts.submission.operations[0].flags = .group
        texts.submission.operations[1].group = 0
        let group = world.submit(texts)
        let because = Cause.Root(group, .succeeded)
        world.change(
            .finished(OperationID(2), .notNeeded, .groupSkipped(group, because: because), at: world.now),
            .finished(group, .succeeded, .upToDate, at: world.now),
            .finished(OperationID(3), .notNeeded, .dependency(root: group, .succeeded), at: world.now))
        try world.commit()
        let history = try world.history()
        #expect(try history.record(of: OperationID(2))?.cause == "group 1 (g) is up to date")
        #expect(try history.record(of: OperationID(3))?.cause == "dependency 1 (g) is up to date")
        #expect(try history.revival(of: [group], downstream: false).operations.map(\.id.rawValue) == [1, 2, 3])
    }

    @Test func `the results of dependencies are passed to their dependents`() throws {
        let world = try World()
        world.submit(chain(["a", "b"], [[], [0]]))
        world.start(OperationID(1))
        world.change(.updated(AttemptID(OperationID(1), 1), OperationUpdate(result: "42")))
        world.end(OperationID(1))
        try world.commit()
        func results(of owner: UInt32?, atMost limit: Int = 100) throws -> [String]? {
            try world.store.results(for: OperationID(2), of: owner, atMost: limit)?.map {
                "\($0.name ?? "") \($0.result ?? "")"
            }
        }
        #expect(try results(of: nil) == ["a 42"])
        #expect(try results(of: nil, atMost: 3) == ["a 42"])
        #expect(try results(of: nil, atMost: 2) == nil, "more than may be")
        let owner = try #require(try world.history().owners(of: [OperationID(1)])[OperationID(1)])
        #expect(try results(of: owner) == ["a 42"])
        #expect(try results(of: owner + 1) == [], "those of somebody else")
    }

    @Test func `a dependency counts as successful once it has succeeded or was not needed`() throws {
        let world = try World()
        let root = world.submit(chain(["a", "b"], [[], [0]]))
        func unsuccessful() throws -> OperationID? {
            try world.commit()
            return try world.history().unsuccessfulDependency(of: OperationID(2))
        }
        #expect(try unsuccessful() == root, "it waits")
        world.start(root)
        #expect(try unsuccessful() == root, "it executes")
        world.end(root)
        #expect(try unsuccessful() == nil)
        world.change(.reopened(root, run: 2, .ready))
        #expect(try unsuccessful() == nil, "it succeeded before it was retried")
        world.change(.finished(root, .notNeeded, nil, at: world.now))
        #expect(try unsuccessful() == nil)
        let failed = try World()
        failed.submit(chain(["a", "b"], [[], [0]]))
        failed.start(root)
        failed.end(root, code: 1)
        try failed.commit()
        #expect(try failed.history().unsuccessfulDependency(of: OperationID(2)) == root)
    }

    @Test func `a sound database has no problems`() throws {
        let world = try World()
        let first = world.submit(CommitTests.graph())
        world.start(first)
        world.end(first, code: 3)
        try world.commit()
        #expect(try world.history().check() == [])
    }
}

import OpsCore
import OpsTesting
import Testing

/// Situations that make well-known schedulers hang, leak or strand work.
@Suite("Classic traps")
struct TrapTests {
    private let db = [CategoryUse(name: "db")]

    @Test(arguments: [true, false])
    func `a dependent in the same category may be submitted first`(inOneSubmission: Bool) throws {
        var stage = try Stage<Scheduler>()
        if inOneSubmission {
            var submission = Submission()
            let a = submission.add(categories: db)
            let b = submission.add(categories: db)
            submission.edges.append(DraftEdge(from: a, on: .local(b)))
            try stage.submit(submission)
        } else {
            var first = Submission()
            first.add(categories: db, flags: .held)
            let a = try stage.submit(first)[0]
            var second = Submission()
            second.add(categories: db, flags: .held)
            let b = try stage.submit(second)[0]
            try stage.perform(.addDependency(a, on: b, when: .succeeded, finished: nil))
            try stage.perform(.resume(.operations([a, b])))
        }
        try stage.drain()
        #expect(stage.started == [OperationID(2), OperationID(1)])
    }

    @Test(arguments: [true, false])
    func `a dependent in the same category may be submitted second`(inOneSubmission: Bool) throws {
        var stage = try Stage<Scheduler>()
        var submission = Submission()
        let b = submission.add(categories: db)
        if inOneSubmission {
            submission.add(categories: db, after: [b])
            try stage.submit(submission)
        } else {
            let stored = try stage.submit(submission)[0]
            var second = Submission()
            let a = second.add(categories: db)
            second.add(edgeFrom: a, on: stored)
            try stage.submit(second)
        }
        try stage.drain()
        #expect(stage.started == [OperationID(1), OperationID(2)])
    }

    @Test
    func `cancelling one waiting operation does not stop the next`() throws {
        var stage = try Stage<Scheduler>()
        var submission = Submission()
        for _ in 0..<3 { submission.add(categories: db) }
        let ids = try stage.submit(submission)
        try stage.perform(.cancel([ids[1]], by: "ann", reason: nil, force: false))
        #expect(stage.store[ids[1]].outcome == .cancelled)
        #expect(stage.executing == [ids[0]], "the cancel frees nothing")
        try stage.drain()
        #expect(stage.started == [ids[0], ids[2]])
    }

    @Test
    func `a category named twice counts once in its stricter mode`() throws {
        var stage = try Stage<Scheduler>()
        var submission = Submission()
        submission.add(categories: [.shared("db"), .exclusive("db"), .units("db")])
        submission.add(categories: [.shared("db")])
        let ids = try stage.submit(submission)
        #expect(stage.executing == [ids[0]])
        try stage.drain()
        #expect(stage.started == ids)
    }

    @Test
    func `an operation in a suspended queue can be cancelled`() throws {
        var stage = try Stage<Scheduler>()
        try stage.perform(.suspend(.queue("default"), freeze: false))
        var submission = Submission()
        let first = submission.add()
        submission.add(after: [first], when: .finished)
        let ids = try stage.submit(submission)
        try stage.perform(.cancel([ids[0]], by: "ann", reason: "wrong", force: false))
        #expect(stage.store[ids[0]].outcome == .cancelled)
        #expect(stage.store[ids[1]].state == .ready)
        try stage.perform(.resume(.queue("default")))
        #expect(stage.executing == [ids[1]])
    }

    @Test
    func `an operation starts when its last dependency is removed`() throws {
        var stage = try Stage<Scheduler>()
        var submission = Submission()
        let first = submission.add(flags: .held)
        submission.add(after: [first])
        let ids = try stage.submit(submission)
        #expect(stage.executing.isEmpty)
        try stage.perform(.removeDependency(ids[1], on: ids[0]))
        #expect(stage.executing == [ids[1]])
    }

    /// The end and the submission are in one turn, in both orders.
    @Test(arguments: [true, false])
    func `a dependent submitted in the turn of its dependency's end starts`(endFirst: Bool) throws {
        var stage = try Stage<Scheduler>(workers: 1)
        var ids: [OperationID] = []
        for round in 0..<100 {
            var submission = Submission()
            submission.add()
            if let last = ids.last { submission.add(edgeFrom: 0, on: last) }
            if let attempt = stage.running.first, round > 0 {
                let end = stage.exit(of: attempt)
                if endFirst {
                    try stage.perform(end, .submit(submission))
                } else {
                    try stage.perform(.submit(submission), end)
                }
                ids.append(OperationID(Int64(round + 1)))
            } else {
                ids = try stage.submit(submission)
            }
            #expect(stage.executing == [ids[round]])
        }
    }

    @Test
    func `narrow operations do not starve a wide one`() throws {
        var stage = try Stage<Scheduler>(workers: 3)
        try stage.perform(.setCategory("gpu", capacity: 2))
        try assertNotStarved(&stage, waiting: [.units("gpu", 2)], stream: [.units("gpu")])
    }

    @Test
    func `readers do not starve a writer`() throws {
        var stage = try Stage<Scheduler>(workers: 3)
        try assertNotStarved(&stage, waiting: [.exclusive("disk")], stream: [.shared("disk")])
    }

    /// Two operations of the stream always overlap, so the waiting one never finds everything free by chance.
    private func assertNotStarved(
        _ stage: inout Stage<Scheduler>, waiting: [CategoryUse], stream: [CategoryUse]
    ) throws {
        var narrow = Submission()
        narrow.add(categories: stream)
        try stage.submit(narrow)
        var wide = Submission()
        wide.add(categories: waiting)
        let patient = try stage.submit(wide)[0]
        for round in 0..<40 {
            if stage.started.contains(patient) {
                #expect(round <= Int(Limits.overtakes) + 2)
                return
            }
            try stage.submit(narrow)
            try stage.end(stage.executing[0])
        }
        Issue.record("it never had its turn")
    }

    @Test
    func `a dependency of a high-priority operation inherits its priority`() throws {
        var stage = try Stage<Scheduler>(workers: 1)
        var submission = Submission()
        let blocker = submission.add()
        let low = submission.add(priority: -8, after: [blocker])
        for _ in 0..<3 { submission.add(after: [blocker]) }
        submission.add(priority: 8, after: [low])
        let ids = try stage.submit(submission)
        try stage.drain()
        #expect(
            stage.started.prefix(3) == [ids[0], ids[1], ids[5]], "the low one inherits the priority of its dependent")
    }

    @Test
    func `a restart keeps the order of waiting operations`() throws {
        var stage = try Stage<Scheduler>(workers: 1)
        var submission = Submission()
        for place in 0..<5 { submission.add(priority: Int8(place % 3), categories: db) }
        let ids = try stage.submit(submission)
        #expect(stage.executing == [ids[2]])
        try stage.restart()
        #expect(stage.executing == [ids[2]], "the executing operation goes on, and nothing starts twice")
        try stage.drain()
        #expect(stage.started == [ids[2], ids[1], ids[4], ids[0], ids[3]])
    }
}

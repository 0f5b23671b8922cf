import Testing

@testable import OpsCore

/// The weight of each kind of event to the last operation: a weight that is too low makes a turn too long.
@Suite struct WeightTableTests {
    /// Operations that wait for 1, or for what an event ends.
    private static let waiting = 7
    private static let limit = 60

    private var world: World

    /// 1 executes, with processes that were reported; a hundred others are held.
    init() {
        world = World(workers: 8)
        world.add()
        var others = Submission()
        others.operations = Array(repeating: Draft(flags: .held), count: 100)
        world.handle(.submit(others))
        world.turn()
    }

    private func weight(_ event: Event) -> Int { world.scheduler.weight(of: event, upTo: Self.limit) }

    private mutating func submit(_ submission: Submission) -> Int64 {
        guard case .success(.submitted(_, let first, _)) = world.handle(.submit(submission)) else { return -1 }
        world.turn()
        return first.rawValue
    }

    /// Adds as many operations as are to wait for one.
    private mutating func wait(for id: Int64, _ when: EdgeCondition = .succeeded, _ count: Int = waiting) -> Int64 {
        var submission = Submission()
        submission.operations = Array(repeating: Draft(), count: count)
        submission.edges = (0..<Int32(count)).map { DraftEdge(from: $0, on: .existing(OperationID(id)), when: when) }
        return submit(submission)
    }

    /// A group with that many children; held, it waits.
    private mutating func addGroup(_ flags: Draft.Flags = .group, children: Int) -> Int64 {
        var submission = Submission()
        submission.operations =
            [Draft(flags: flags)] + Array(repeating: Draft(group: 0, flags: .held), count: children)
        return submit(submission)
    }

    private func cancel(_ ids: [Int64], force: Bool = false) -> Event {
        .cancel(ids.map { OperationID($0) }, by: "ann", reason: nil, force: force)
    }

    private var end: ExternalEnd { ExternalEnd(outcome: .interrupted, cause: "", at: world.now) }

    // MARK: Ends of attempts

    @Test(arguments: EdgeCondition.allCases)
    mutating func `an end weighs one for each edge that is met, and two for each that never can be`(
        when: EdgeCondition
    ) {
        _ = wait(for: 1, when)
        let attempt = world.attempt(1)
        let (met, never) = (Self.waiting, 2 * Self.waiting)
        let (success, failure) =
            switch when {
            case .succeeded: (met, never)
            case .finished: (met, met)
            case .failed: (never, met)
            case .started: (0, 0)
            }
        #expect(weight(world.exit(1, 0)) == success && weight(world.exit(1, 1)) == failure)
        #expect(weight(world.exit(1, 0, gone: false)) == success)
        #expect(weight(.gone(attempt)) == failure)
        #expect(weight(.launchFailed(attempt, step: "exec", errno: 2)) == failure)
        #expect(weight(.refused(attempt, "no")) == failure)
        #expect(weight(.ended(attempt, end)) == failure)
        for (status, weighs) in [(0, success), (1, failure)] as [(Int32, Int)] {
            #expect(weight(.updated(attempt, OperationUpdate(finished: status))) == weighs)
            #expect(weight(.finish(1, failed: status != 0, message: nil, by: "ann")) == weighs)
        }
        #expect(weight(.updated(attempt, OperationUpdate(status: "half"))) == 0)
        #expect(weight(.finish(2, failed: true, message: nil, by: "ann")) == 0, "it does not execute")
        let past = AttemptID(1, 9)
        for event in [.gone(past), .refused(past, ""), .ended(past, end)] as [Event] {
            #expect(weight(event) == 0, "an attempt that is over ends nothing")
        }
        #expect(weight(.external("x", .refused(attempt, "no"))) == failure)
    }

    @Test mutating func `processes that are left decide whether an exit ends an operation`() {
        let patient = world.add { $0.leftovers = .wait }
        world.turn()
        _ = wait(for: patient)
        #expect(weight(world.exit(patient, 0, gone: false)) == 0)
        #expect(weight(world.exit(patient, 0, gone: true)) == Self.waiting)
        world.after(world.exit(patient, 0, gone: false))
        #expect(weight(.gone(world.attempt(patient))) == Self.waiting)
    }

    @Test mutating func `an end that was decided before counts`() {
        _ = wait(for: 1, .failed)
        world.after(cancel([1]))
        let attempt = world.attempt(1)
        for event in [
            world.exit(1, 0), .gone(attempt), .refused(attempt, ""), .ended(attempt, end),
            .launchFailed(attempt, step: "", errno: 1),
        ] {
            #expect(weight(event) == Self.waiting)
        }
    }

    @Test mutating func `an end weighs nothing while children go on`() {
        var child = Submission()
        child.operations = [Draft(flags: .held)]
        child.producer = 1
        child.asChildren = true
        _ = submit(child)
        #expect(weight(cancel([1], force: true)) == 3, "it is named; its child is looked at, and ends")
        _ = wait(for: 1)
        #expect(weight(world.exit(1, 0)) == 0)
    }

    @Test mutating func `an end weighs as a failure only after children that did not succeed`() {
        let child = world.add(child: 1)
        world.turn()
        world.after(world.exit(child))
        _ = wait(for: 1)
        #expect(weight(world.exit(1, 0)) == Self.waiting)
        let other = world.add(child: 1)
        world.turn()
        world.after(world.exit(other, 1))
        #expect(weight(world.exit(1, 0)) == 2 * Self.waiting)
    }

    @Test mutating func `an inventory weighs as much as the ends that it reports`() {
        _ = wait(for: 1)
        world.after(world.launch(1))
        let (met, never) = (Self.waiting, 2 * Self.waiting)
        let exits = [0, 1].map { ProcessExit(status: .code($0), at: world.now) }
        let entries: [(AttemptState?, runner: Int, executor: Int)] = [
            (.exited(exits[0]), met, met), (.exited(exits[1]), never, never), (.gone(exits[0]), met, met),
            (.gone(exits[1]), never, never), (.failed(step: "exec", errno: 2), never, never),
            (.running(LaunchedProcess(pid: 1, startTicks: 1, at: world.now)), 0, 0), (.accepted(job: "5"), 0, 0),
            (.refused(cause: "no"), 0, never), (.ended(end), 0, never),
            (nil, never, 0),
        ]
        for (entry, runner, executor) in entries {
            var inventory = Inventory(runner: "r1", boot: "b1")
            inventory.entries[world.attempt(1)] = entry
            #expect(weight(.runnerConnected(inventory)) == runner, "\(String(describing: entry))")
            #expect(weight(.external("x", .runnerConnected(inventory))) == executor, "\(String(describing: entry))")
        }
        #expect(weight(.runnerConnected(Inventory(runner: "r2", boot: "b1"))) == 0, "its tree is looked for first")
    }

    @Test mutating func `attempts of another boot have been interrupted`() {
        _ = wait(for: 1)
        var inventory = Inventory(runner: "r1", boot: "b1")
        inventory.entries[world.attempt(1)] = .running(LaunchedProcess(pid: 1, startTicks: 1, at: world.now))
        world.after(.runnerConnected(inventory))
        inventory.boot = "b2"
        #expect(weight(.runnerConnected(inventory)) == 2 * Self.waiting)
    }

    @Test mutating func `a launch that never arrived ends nothing`() {
        _ = wait(for: 1)
        #expect(weight(.runnerConnected(Inventory(runner: "r1", boot: "b1"))) == 0, "it is launched again")
    }

    @Test mutating func `a reported success code weighs as much as a success`() {
        let id = world.add { $0.successCodes = [3] }
        world.turn()
        _ = wait(for: id)
        let attempt = world.attempt(id)
        #expect(weight(.updated(attempt, OperationUpdate(finished: 3))) == Self.waiting)
        #expect(weight(.updated(attempt, OperationUpdate(finished: 4))) == 2 * Self.waiting)
    }

    // MARK: Requests

    @Test mutating func `a false condition weighs as much as waits for its operation`() {
        for otherwise in ConditionPolicy.Otherwise.allCases {
            let id = world.add(flags: .held) {
                $0.conditions = [ConditionPolicy(otherwise: .wait), ConditionPolicy(otherwise: otherwise)]
            }
            _ = wait(for: id)
            let answer = { (index: Int32) in
                Event.conditionsAnswered(OperationID(id), token: 1, .isFalse(index: index, detail: ""))
            }
            #expect(weight(answer(1)) == 1 + Self.waiting * (otherwise == .succeed ? 1 : 2))
            #expect(weight(answer(0)) == 1 + Self.waiting * 2)
            #expect(weight(.conditionsAnswered(OperationID(id), token: 1, .allTrue)) == 0)
        }
    }

    @Test mutating func `a cancellation weighs as much as it ends`() {
        let id = wait(for: 1, .finished, 1)
        _ = wait(for: id)
        #expect(weight(cancel([id])) == 2 + 2 * Self.waiting)
        #expect(weight(cancel([id, 2, 3])) == 6 + 2 * Self.waiting)
        #expect(weight(cancel([1])) == 1 && weight(cancel([1], force: true)) == 2)
        let held = addGroup([.group, .held], children: 5)
        #expect(weight(cancel([held])) == 2 + 2 * 5)
        let group = addGroup(children: 5)
        _ = wait(for: group, .succeeded, 3)
        #expect(weight(cancel([group])) == 1 + 2 * 5 + 2 * 3)
        #expect(weight(.suspend(.operations([OperationID(group)]), freeze: false)) == 1 + 5)
        #expect(weight(.resume(.operations([OperationID(group), 2]))) == 2 + 5)
    }

    @Test mutating func `a level weighs as much as is in it`() {
        _ = addGroup(children: 5)
        let graph = Level.graph(GraphID(world.scheduler.nextGraphID.rawValue - 1))
        for event in [.suspend(graph, freeze: false), .resume(graph)] as [Event] { #expect(weight(event) == 6) }
        #expect(weight(.suspend(.daemon, freeze: true)) == 0 && weight(.resume(.daemon)) == 0)
        world.handle(.setQueue("q", QueueEdit(limit: .set(0))))
        for categories in [["a"], ["b"], []] as [[CategoryUse]] { world.add(queue: "q", categories: categories) }
        world.turn()
        #expect(weight(.resume(.queue("q"))) == 3 && weight(.suspend(.queue("q"), freeze: false)) == 3)
        #expect(weight(.setQueue("q", QueueEdit(aging: .set(5)))) == 3)
        #expect(weight(.setQueue("q", QueueEdit(limit: .clear))) == 0)
        var edit = QueueEdit()
        for (isFair, expected) in [(true, 3), (false, 0)] {
            edit.isFair = isFair
            #expect(weight(.setQueue("q", edit)) == expected, "it is not fair")
        }
    }

    @Test mutating func `a dependency weighs as much as lies before it`() {
        let second = wait(for: 1, .succeeded, 1)
        let third = wait(for: second, .succeeded, 1)
        let depend = { (on: Int64, when: EdgeCondition) in
            Event.addDependency(2, on: OperationID(on), when: when, finished: nil)
        }
        #expect(weight(depend(1, .finished)) == 1)
        #expect(weight(depend(third, .finished)) == 7, "three ends, two starts, two edges")
        #expect(weight(depend(third, .started)) == 6)
        let fact = FinishedFact(outcome: .failed, root: 900, hasStarted: true)
        #expect(weight(.addDependency(2, on: 900, when: .succeeded, finished: fact)) == 1, "the skip of 2")
        #expect(weight(.addDependency(2, on: 900, when: .failed, finished: fact)) == 0)
    }

    @Test mutating func `a submission weighs as much as it raises`() {
        let second = wait(for: 1, .succeeded, 1)
        var submission = Submission()
        submission.operations = Array(repeating: Draft(), count: 3)
        submission.edges = (0..<8).map { _ in DraftEdge(from: 0, on: .existing(OperationID(second))) }
        #expect(weight(.submit(submission)) == 3 + 2)
        submission.operations[1].priority = 5
        #expect(weight(.submit(submission)) == 3 + 2 + 4, "two ends, a start, an edge")
        submission.operations[1].priority = 0
        submission.producer = 1
        submission.asChildren = true
        #expect(weight(.submit(submission)) == 3 + 2 + 4)
        world.add(queue: "main", priority: 1, flags: [.barrier, .held])
        world.turn()
        var other = Submission()
        other.queues = ["main"]
        other.operations = [Draft()]
        #expect(weight(.submit(other)) == 1)
        other.operations[0].flags = .barrier
        #expect(weight(.submit(other)) == 1 + 1, "a barrier counts the operations of its queue again")
        other.operations[0].flags = []
        other.producer = 1
        other.asChildren = true
        #expect(weight(.submit(other)) == 1 + 1, "and so do children")
    }

    @Test mutating func `an edit weighs as much as it raises`() {
        let second = wait(for: 1, .succeeded, 1)
        let third = wait(for: second, .succeeded, 1)
        let edit = { (edit: Edit) in Event.edit([OperationID(third)], edit) }
        #expect(weight(edit(Edit(priority: 3))) == 1 + 6, "two ends, two starts, two edges")
        #expect(weight(edit(Edit(priority: 0))) == 1 + 1)
        #expect(weight(edit(Edit(queue: "main"))) == 1)
        #expect(weight(edit(Edit(categories: ["a"]))) == 1, "no group holds a category")
        world.add(queue: "main", flags: .barrier)
        world.turn()
        #expect(weight(edit(Edit(queue: "main"))) == 1 + 1)
    }

    // MARK: Work at the end of a turn

    @Test mutating func `a timer weighs as much as its operation ends`() {
        let id = wait(for: 1, .finished, 1)
        _ = wait(for: id)
        let group = addGroup(children: 5)
        func weight(_ timer: (Int64) -> Timers.Entry, _ id: Int64) -> Int {
            world.scheduler.weight(of: timer(id), upTo: Self.limit)
        }
        func monotonic(_ kind: MonotonicTimer) -> (Int64) -> Timers.Entry {
            { .monotonic(TimerHeap.Entry(at: 0, id: $0, kind: kind)) }
        }
        func wall(_ kind: WallTimer) -> (Int64) -> Timers.Entry {
            { .wall(TimerHeap.Entry(at: 0, id: $0, kind: kind)) }
        }
        for timer in [wall(.deadline), monotonic(.timeout)] {
            #expect(weight(timer, id) == 2 + 2 * Self.waiting && weight(timer, 1) == 1)
            #expect(weight(timer, group) == 1 + 2 * 5 && weight(timer, 9_999) == 1)
        }
        var working = Submission()
        working.operations = [Draft(flags: .group), Draft(group: 0)]
        let executing = submit(working)
        _ = wait(for: executing + 1)
        #expect(weight(wall(.deadline), executing) == 1 + 1, "its child is only told to end")
        for timer in [monotonic(.backoff), monotonic(.recheck), wall(.notBefore), wall(.aging)] {
            #expect(weight(timer, id) == 1)
        }
    }

    @Test mutating func `a start weighs as much as it releases`() throws {
        world.handle(.suspend(.daemon, freeze: false))
        let group = addGroup(children: 5)
        _ = wait(for: group, .started, 4)
        let alone = world.add()
        _ = wait(for: alone, .started, 3)
        let plain = world.add()
        _ = wait(for: plain, .finished, 3)
        func weight(_ id: Int64, upTo limit: Int = 50) throws -> Int {
            let operation = try #require(world.scheduler.unfinished(OperationID(id)))
            return world.scheduler.weight(ofStart: operation, upTo: limit)
        }
        #expect(try [group, alone, plain].map { try weight($0) } == [9, 3, 0])
        #expect(try weight(alone, upTo: 1) == 2 && weight(alone, upTo: 2) == 3)
    }

    @Test mutating func `a look ends at its limit`() {
        _ = wait(for: 1, .succeeded, 50)
        for limit in [5, 49, 50, 51, 99] {
            let weight = world.scheduler.weight(of: world.exit(1, 0), upTo: limit)
            #expect(limit < 50 ? weight > limit && weight <= limit + 2 : weight == 50)
        }
        #expect(world.scheduler.weight(of: world.exit(1, 1), upTo: 60) > 60)
        #expect(world.scheduler.weight(of: world.exit(1, 1), upTo: 151) == 0, "there are no more operations than that")
    }
}

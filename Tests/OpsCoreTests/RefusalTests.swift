import OpsCore
import Testing

/// Answers to requests: what is refused, up to which bound it is accepted, and what a refusal leaves as it was.
@Suite struct RefusalTests {
    private static let done = Result<Acceptance, Rejection>.success(.done(1))

    private func isAccepted(_ result: Result<Acceptance, Rejection>) -> Bool {
        if case .success = result { true } else { false }
    }

    private func submission(_ change: (inout Submission) -> Void) -> Event {
        var submission = Submission()
        submission.operations = [Draft()]
        change(&submission)
        return .submit(submission)
    }

    // MARK: Queues

    @Test func `a queue is added or changed as the request says`() {
        var world = World()
        #expect(world.handle(.setQueue("q", QueueEdit(target: .existing))) == .failure(.unknownQueue("q")))
        #expect(world.handle(.setQueue("q", QueueEdit(limit: .set(3), target: .new))) == Self.done)
        #expect(world.handle(.setQueue("q", QueueEdit(target: .new))) == .failure(.queueExists("q")))
        #expect(world.handle(.setQueue("q", QueueEdit(order: .longestPath, target: .existing))) == Self.done)
        func standing() -> Scheduler.QueueStanding? { world.scheduler.queueStandings.first { $0.name == "q" } }
        #expect(standing()?.limit == 3 && standing()?.order == .longestPath && standing()?.aging == nil)
        var edit = QueueEdit(limit: .set(-4), aging: .set(7))
        edit.isFair = true
        edit.executor = .set("lab")
        world.handle(.setQueue("q", edit))
        #expect(standing()?.limit == 0 && standing()?.aging == 7 && standing()?.isFair == true)
        #expect(standing()?.executor == "lab" && standing()?.order == .longestPath)
        world.handle(.setQueue("q", QueueEdit(limit: .clear, aging: .set(0))))
        #expect(standing()?.limit == nil && standing()?.aging == nil && standing()?.executor == "lab")
        edit = QueueEdit()
        edit.executor = .clear
        edit.isFair = false
        world.handle(.setQueue("q", edit))
        #expect(standing()?.executor == nil && standing()?.isFair == false)
    }

    @Test func `the queue main stays serial`() {
        var world = World()
        for limit in [.set(2), .set(0), .clear] as [Setting<Int32>] {
            #expect(world.handle(.setQueue("main", QueueEdit(limit: limit))) == .failure(.builtInQueue("main")))
        }
        #expect(world.handle(.setQueue("main", QueueEdit(limit: .set(1)))) == Self.done)
        #expect(world.handle(.setQueue("main", QueueEdit(aging: .set(5)))) == Self.done)
        #expect(world.handle(.setQueue("default", QueueEdit(limit: .set(2)))) == Self.done)
    }

    @Test func `only an empty queue that users made is removed`() {
        var world = World(workers: 1)
        world.after(.setQueue("q", QueueEdit()))
        for _ in 0..<2 { world.add(queue: "q") }
        world.add(after: [1], queue: "q")
        world.turn()
        for name in ["default", "main"] {
            #expect(world.handle(.removeQueue(name)) == .failure(.builtInQueue(name)))
        }
        #expect(world.handle(.removeQueue("r")) == .failure(.unknownQueue("r")))
        #expect(world.handle(.removeQueue("q")) == .failure(.queueNotEmpty("q", unfinished: 3)))
        _ = world.drain()
        #expect(world.handle(.removeQueue("q")) == Self.done && !world.scheduler.hasQueue("q"))
        #expect(world.turn() == ["no queue q"])
        #expect(world.handle(submission { $0.queues = ["q"] }) == .failure(.unknownQueue("q")))
        for event in [.suspend(.queue("q"), freeze: false), .resume(.queue("q"))] as [Event] {
            #expect(world.handle(event) == .failure(.unknownQueue("q")))
        }
    }

    // MARK: Sizes

    @Test func `a request names as many categories and conditions as the limits say`() {
        for more in [0, 1] {
            var world = World(workers: 0)
            world.add()
            let uses = (0..<Limits.categoriesPerOperation + more).map { CategoryUse(name: "c\($0)") }
            var policy = Policy()
            policy.conditions = Array(repeating: ConditionPolicy(), count: Limits.conditionsPerOperation + more)
            let requests = [
                submission {
                    $0.categorySets = [uses]
                    $0.operations[0].categories = 0
                },
                submission { $0.policies = [policy] },
                .edit([1], Edit(categories: uses)), .edit([1], Edit(policy: policy)),
            ]
            let limits = [("categories", Limits.categoriesPerOperation), ("conditions", Limits.conditionsPerOperation)]
            for (request, limit) in zip(requests, limits + limits) {
                let result = world.handle(request)
                if more == 0 {
                    #expect(isAccepted(result))
                } else {
                    #expect(result == .failure(.tooMany(what: limit.0, limit: limit.1)))
                }
            }
        }
    }

    @Test func `as many categories have a rate as the limit says`() {
        var world = World()
        let rate = CategoryEdit(rate: .set(Rate(count: 1, interval: 1)))
        for number in 1...Limits.ratedCategories {
            #expect(world.handle(.setCategory("c\(number)", rate)) == Self.done)
        }
        let refusal = Rejection.tooMany(what: "categories with a rate", limit: Limits.ratedCategories)
        #expect(world.handle(.setCategory("d", rate)) == .failure(refusal))
        #expect(world.handle(.setCategory("c1", rate)) == Self.done, "it has one already")
        #expect(world.handle(.setCategory("d", capacity: 4)) == Self.done)
        #expect(world.handle(.setCategory("d", rate)) == .failure(refusal))
        world.handle(.setCategory("c1", CategoryEdit(rate: .clear)))
        #expect(world.handle(.setCategory("d", rate)) == Self.done)
    }

    @Test func `an operation asks for no more units than there are`() {
        var world = World(workers: 0)
        world.after(.setCategory("disk", capacity: 3))
        world.after(.setCategory("none", capacity: 0))
        world.add()
        for (units, isEnough) in [(3, true), (4, false)] as [(Int32, Bool)] {
            let use = CategoryUse(name: "disk", units: units)
            let submitted = world.handle(
                submission {
                    $0.operations = [Draft(), Draft(categories: 0)]
                    $0.categorySets = [[use]]
                })
            let edited = world.handle(.edit([1], Edit(categories: [use])))
            #expect(isAccepted(submitted) == isEnough && isAccepted(edited) == isEnough)
            guard !isEnough else { continue }
            #expect(submitted == .failure(.unitsExceedCapacity(use, .local(1), capacity: 3)))
            #expect(edited == .failure(.unitsExceedCapacity(use, .existing(1), capacity: 3)))
        }
        #expect(world.add(categories: [CategoryUse(name: "none", units: 9)]) > 0, "it waits for a capacity")
        #expect(world.add(categories: [CategoryUse(name: "new", units: 2)]) == -1, "one unit where nobody set it")
    }

    @Test func `a child asks for no more than the nearest group that names the category has`() {
        for units in [2, 3] as [Int32] {
            var world = World(workers: 4)
            world.after(.setCategory("disk", capacity: 8))
            let uses = [("disk", 5), ("disk", 2), ("net", 1), ("disk", units)] as [(String, Int32)]
            let request = submission {
                $0.categorySets = uses.map { [CategoryUse(name: $0.0, units: $0.1)] }
                $0.operations = [
                    Draft(categories: 0, flags: .group), Draft(group: 0, categories: 1, flags: .group),
                    Draft(group: 1, categories: 2, flags: .group), Draft(group: 2, categories: 3),
                    Draft(group: 0, categories: 3),
                ]
            }
            let (use, share) = (CategoryUse(name: "disk", units: units), CategoryUse(name: "disk", units: 2))
            let result = world.handle(request)
            #expect(units == 2 ? isAccepted(result) : result == .failure(.unitsExceedShare(use, .local(3), of: share)))
        }
        var world = World(workers: 4)
        world.after(.setCategory("disk", capacity: 8))
        world.add(categories: [CategoryUse(name: "disk", units: 2)])
        world.turn()
        #expect(world.add(categories: [CategoryUse(name: "disk", units: 3)], child: 1) == -1)
        #expect(world.add(categories: [CategoryUse(name: "disk", units: 2)], child: 1) == 2)
        #expect(world.add(categories: [CategoryUse(name: "disk", units: 3)]) == 3)
    }

    /// All that it holds is the share of the group around it: a child that needs more could never start.
    @Test func `a child asks for no more than an outer group has of which its parent holds all`() {
        var world = World(workers: 4)
        world.after(.setCategory("disk", capacity: 8))
        let (two, three) = (CategoryUse(name: "disk", units: 2), CategoryUse(name: "disk", units: 3))
        world.handle(
            submission {
                $0.categorySets = [[two], [.exclusive("disk")]]
                $0.operations = [Draft(categories: 0, flags: .group), Draft(group: 0, categories: 1)]
            })
        world.turn()
        #expect(world.executing == [1, 2])
        #expect(world.add(categories: [three], child: 2) == -1)
        #expect(world.add(categories: [two], child: 2) == 3)
        #expect(
            world.handle(.edit([3], Edit(categories: [three])))
                == .failure(.unitsExceedShare(three, .existing(3), of: two)))
        world.turn()
        #expect(world.executing == [1, 2, 3])
    }

    @Test func `a submission asks for no more than an outer group has of which an inner one holds all`() {
        var world = World(workers: 4)
        world.after(.setCategory("disk", capacity: 8))
        let (two, five) = (CategoryUse(name: "disk", units: 2), CategoryUse(name: "disk", units: 5))
        let refused = world.handle(
            submission {
                $0.categorySets = [[two], [.exclusive("disk")], [five]]
                $0.operations = [
                    Draft(categories: 0, flags: .group), Draft(group: 0, categories: 1, flags: .group),
                    Draft(group: 1, categories: 2),
                ]
            })
        #expect(refused == .failure(.unitsExceedShare(five, .local(2), of: two)))
    }

    @Test func `an end that is decided, and the end of a group, cannot be reported`() {
        var world = World(workers: 4)
        world.handle(submission { $0.operations = [Draft(flags: .group), Draft(group: 0)] })
        world.turn()
        #expect(
            world.handle(.finish(1, failed: false, message: nil, by: "root")) == .failure(.endsWithItsChildren(1)))
        world.add { $0.completion = .notify }
        world.turn()
        world.after(.finish(3, failed: true, message: "no", by: "root"))
        #expect(world.handle(.finish(3, failed: false, message: nil, by: "root")) == .failure(.isEnding(3)))
    }

    @Test func `a group is edited as far as its children allow`() {
        var world = World(workers: 4)
        world.after(.setCategory("disk", capacity: 8))
        world.handle(
            submission {
                $0.categorySets = [[CategoryUse(name: "disk", units: 4)], [CategoryUse(name: "disk", units: 3)]]
                $0.operations = [Draft(categories: 0, flags: [.group, .held]), Draft(group: 0, categories: 1)]
            })
        func edit(_ id: OperationID, _ units: Int32) -> Result<Acceptance, Rejection> {
            world.handle(.edit([id], Edit(categories: [CategoryUse(name: "disk", units: units)])))
        }
        #expect(edit(1, 3) == Self.done)
        let (two, three) = (CategoryUse(name: "disk", units: 2), CategoryUse(name: "disk", units: 3))
        #expect(edit(1, 2) == .failure(.unitsExceedShare(three, .existing(2), of: two)))
        #expect(edit(2, 4) == .failure(.unitsExceedShare(CategoryUse(name: "disk", units: 4), .existing(2), of: three)))
        #expect(edit(2, 2) == Self.done && edit(1, 2) == Self.done)
        #expect(world.handle(.edit([1], Edit(categories: []))) == Self.done, "a group without a share limits nothing")
    }

    // MARK: What a request names

    @Test func `an edge names an operation that exists or has existed`() {
        var world = World(workers: 0)
        world.add()
        let fact = FinishedFact(outcome: .succeeded, root: 1, hasStarted: true)
        func submit(after id: OperationID, known: [OperationID]) -> Result<Acceptance, Rejection> {
            world.handle(
                submission {
                    $0.edges = [DraftEdge(from: 0, on: .existing(id))]
                    for id in known { $0.finished[id] = fact }
                })
        }
        #expect(submit(after: 7, known: []) == .failure(.unknownOperation(7)))
        #expect(submit(after: 7, known: [7]) == .failure(.unknownOperation(7)), "its id is still to be given")
        #expect(submit(after: 2, known: [2]) == .failure(.unknownOperation(2)))
        #expect(isAccepted(submit(after: 1, known: [])))
        world.after(.cancel([1], by: "ann", reason: nil, force: false))
        #expect(submit(after: 1, known: []) == .failure(.unknownOperation(1)))
        #expect(isAccepted(submit(after: 1, known: [1])))
    }

    @Test func `a request for what waits is refused for what executes or has finished`() {
        var world = World(workers: 1)
        for _ in 0..<3 { world.add() }
        world.after(.cancel([2], by: "ann", reason: nil, force: false))
        let requests: [(OperationID) -> Event] = [
            { .addDependency($0, on: 3, when: .finished, finished: nil) }, { .removeDependency($0, on: 3) },
            { .edit([$0], Edit(priority: 2)) },
        ]
        for request in requests {
            #expect(world.handle(request(1)) == .failure(.alreadyStarted(1)))
            #expect(world.handle(request(2)) == .failure(.alreadyFinished(2)))
            for id in [0, 4] as [OperationID] { #expect(world.handle(request(id)) == .failure(.unknownOperation(id))) }
        }
        #expect(world.handle(.suspend(.operations([4]), freeze: false)) == .failure(.unknownOperation(4)))
        #expect(world.handle(.resume(.operations([2]))) == .failure(.alreadyFinished(2)))
        #expect(
            world.handle(.suspend(.operations([2, 3, 4]), freeze: false)) == Self.done, "the others are passed over")
        #expect(world.handle(.note(2, graph: GraphID(2), text: "late")) == Self.done)
    }

    @Test func `a dependency is added once and on what exists`() {
        var world = World(workers: 1)
        for _ in 0..<3 { world.add() }
        world.turn()
        func depend(_ id: OperationID, _ on: OperationID, _ when: EdgeCondition) -> Result<Acceptance, Rejection> {
            world.handle(.addDependency(id, on: on, when: when, finished: nil))
        }
        #expect(depend(3, 9, .finished) == .failure(.unknownOperation(9)))
        #expect(depend(3, 2, .finished) == Self.done && depend(3, 2, .finished) == .success(.done(0)))
        #expect(depend(3, 2, .failed) == Self.done && depend(3, 1, .started) == Self.done)
        #expect(
            world.turn() == [
                "edge 3 on 2 finished", "pending 3", "edge 3 on 2 failed", "edge 3 on 1 started",
            ])
        #expect(depend(2, 3, .finished) == .failure(.cycle([.existing(2), .existing(3), .existing(2)])))
        #expect(world.handle(.removeDependency(3, on: 1)) == .failure(.noSuchEdge(3, on: 1)), "it was met at once")
        #expect(world.handle(.removeDependency(3, on: 1, isMet: true)) == Self.done)
        #expect(world.handle(.removeDependency(3, on: 2)) == Self.done, "both edges")
        #expect(world.turn() == ["no edge 3 on 1", "no edge 3 on 2", "ready 3"])
    }

    @Test func `a dependency on what has finished is recorded, whether it is met or never can be`() {
        var world = World(workers: 1)
        world.add()
        for _ in 0..<2 { world.add(flags: .held) }
        world.turn()
        world.after(world.exit(1))
        let fact = FinishedFact(outcome: .succeeded, root: 1, hasStarted: true)
        #expect(world.after(.addDependency(2, on: 1, when: .succeeded, finished: fact)) == ["edge 2 on 1 succeeded"])
        #expect(world.state(2) == .ready)
        #expect(
            world.after(.addDependency(3, on: 1, when: .failed, finished: fact)) == [
                "edge 3 on 1 failed", "finished 3 notNeeded root 1 succeeded",
            ])
    }

    @Test func `children need a producer that executes and is not ending`() {
        var world = World(workers: 1)
        for _ in 0..<2 { world.add() }
        world.turn()
        func submit(of producer: OperationID, asChildren: Bool) -> Result<Acceptance, Rejection> {
            world.handle(
                submission {
                    $0.producer = producer
                    $0.asChildren = asChildren
                })
        }
        #expect(submit(of: 2, asChildren: true) == .failure(.producerClosed(2)), "it waits")
        #expect(isAccepted(submit(of: 2, asChildren: false)) && isAccepted(submit(of: 1, asChildren: true)))
        world.handle(.cancel([1], by: "ann", reason: nil, force: false))
        #expect(submit(of: 1, asChildren: true) == .failure(.producerClosed(1)), "it is ending")
        #expect(isAccepted(submit(of: 1, asChildren: false)))
        world.after(world.exit(1))
        #expect(submit(of: 1, asChildren: true) == .failure(.producerClosed(1)), "it has finished")
        #expect(isAccepted(submit(of: 1, asChildren: false)))
    }

    @Test func `only the processes of a notify operation are declared finished`() {
        var world = World(workers: 2)
        world.add()
        world.add { $0.completion = .notify }
        world.add { $0.completion = .notify }
        world.add(flags: .group)
        world.turn()
        func finish(_ id: OperationID) -> Result<Acceptance, Rejection> {
            world.handle(.finish(id, failed: false, message: nil, by: "ann"))
        }
        #expect(finish(1) == .failure(.endsByItsExit(1)) && finish(3) == .failure(.notExecuting(3)))
        #expect(finish(9) == .failure(.unknownOperation(9)) && finish(4) == .failure(.alreadyFinished(4)))
        #expect(finish(2) == Self.done && finish(2) == .failure(.isEnding(2)))
        world.after(world.exit(2))
        #expect(finish(2) == .failure(.alreadyFinished(2)))
        world.add(child: 3)
        world.after(.updated(world.attempt(3), OperationUpdate(finished: 0)))
        world.after(world.exit(3))
        #expect(finish(3) == .failure(.ownPartEnded(3)), "its child goes on")
    }

    @Test func `what comes back needs its queue and its parent`() {
        var world = World(workers: 2)
        for _ in 0..<2 { world.add() }
        world.turn()
        world.add(child: 1)
        world.turn()
        world.after(world.exit(2))
        func revival(_ id: OperationID, parent: OperationID = 0) -> Revival {
            var revival = Revival()
            revival.queues = ["default"]
            revival.operations = [
                Snapshot.Row(id: id, graph: GraphID(1), parent: parent, state: .finished, attempt: 1, attemptsInRun: 1)
            ]
            return revival
        }
        #expect(world.handle(.retry([1], revived: revival(1))) == .failure(.notFinished(1)))
        var elsewhere = revival(2)
        elsewhere.queues = ["gone"]
        #expect(world.handle(.retry([2], revived: elsewhere)) == .failure(.unknownQueue("gone")))
        #expect(world.handle(.retry([2], revived: revival(2, parent: 9))) == .failure(.producerClosed(9)))
        world.after(world.exit(3))
        world.handle(.cancel([1], by: "ann", reason: nil, force: false))
        #expect(world.handle(.retry([3], revived: revival(3, parent: 1))) == .failure(.producerClosed(1)))
        #expect(world.handle(.retry([2], revived: revival(2))) == Self.done)
    }

    // MARK: Bounds of settings

    @Test func `settings are kept within their bounds`() {
        var world = World()
        for (count, workers) in [(-1, 0), (7, 7), (4096, 4096), (4097, 4096)] as [(Int32, Int32)] {
            #expect(world.handle(.setWorkers(count)) == Self.done && world.scheduler.workers == workers)
        }
        func settings() -> CategorySettings? { world.scheduler.categorySettings(of: "gpu") }
        #expect(settings() == nil)
        world.handle(.setCategory("gpu", capacity: -3))
        #expect(settings() == CategorySettings(name: "gpu", capacity: 0))
        world.handle(.setCategory("gpu", CategoryEdit(units: ["a", "b"], share: 0, export: .set("X"))))
        #expect(settings() == CategorySettings(name: "gpu", capacity: 2, units: ["a", "b"], share: 1, export: "X"))
        world.handle(.setCategory("gpu", CategoryEdit(share: 3)))
        #expect(settings() == CategorySettings(name: "gpu", capacity: 6, units: ["a", "b"], share: 3, export: "X"))
        world.handle(.setCategory("gpu", CategoryEdit(capacity: 5, share: 2, export: .clear)))
        #expect(settings() == CategorySettings(name: "gpu", capacity: 5))
        world.handle(.setExecutors([ExecutorSettings(name: "lab", window: -2)]))
        #expect(world.scheduler.executorLoads.map(\.window) == [0])
    }

    @Test func `the highest number of a graph is given, and none after it`() {
        var snapshot = Snapshot()
        let last: Int64 = (1 << 40) - 1
        snapshot.nextGraph = last
        var world = World(workers: 0, snapshot)
        var submission = Submission()
        submission.operations = [Draft()]
        let submitted = Acceptance.submitted(GraphID(last), first: 1, count: 1)
        #expect(world.handle(.submit(submission)) == .success(submitted))
        #expect(world.handle(.submit(submission)) == .failure(.tooMany(what: "graphs", limit: Int(last))))
    }
}

import OpsTesting
import Testing

@testable import OpsCore

/// Categories and rates beside plain models of them, through random changes.
@Suite("Category models")
struct CategoryModelTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a use fits if the holders leave room for it`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var room = CategoryRoom(capacity: 4)
        var holders: [(mode: CategoryUse.Mode, units: Int32)] = []
        for _ in 0..<400 {
            if random.chance(5) { room.capacity = Int32(random.below(6)) }
            let (mode, units) = (random.pick(CategoryUse.Mode.allCases), Int32(1 + random.below(3)))
            let used = holders.reduce(0) { $0 + ($1.mode == .units ? $1.units : 0) }
            let areShared = holders.allSatisfy { $0.mode == .shared }
            let fits =
                switch mode {
                case .exclusive: holders.isEmpty && room.capacity > 0
                case .shared: areShared && room.capacity > 0
                case .units: holders.allSatisfy { $0.mode == .units } && used + units <= room.capacity
                }
            #expect(room.fits(mode, units) == fits)
            if fits, random.chance(70) {
                room.acquire(mode, units: units)
                holders.append((mode, units))
            } else if !holders.isEmpty, random.chance(60) {
                let gone = holders.remove(at: random.below(holders.count))
                room.release(gone.mode, units: gone.units)
            }
            let both = (Need(category: any, mode: mode, units: units), Need(category: any, mode: .units, units: 2))
            #expect(room.canShare(both.0, both.1) == (mode == .units && units + 2 <= room.capacity))
            let left = room.capacity - room.usedUnits
            #expect(room.fit(both.0, beside: both.1) == (mode == .units && units + 2 <= left))
        }
        let shared = Need(category: any, mode: .shared, units: 1)
        #expect(room.canShare(shared, shared) && room.fit(shared, beside: shared))
    }

    private let any = CategoryIndex(rawValue: 0)

    @Test func `a group that shares a category lends it to any number of sharers and to nobody else`() {
        var scope = CategoryRoom(capacity: 1)
        scope.isSharedScope = true
        for _ in 0..<3 {
            #expect(scope.fits(.shared, 1) && !scope.fits(.exclusive, 1) && !scope.fits(.units, 1))
            scope.acquire(.shared, units: 1)
        }
    }

    @Test func `a category forgets many kinds of needs once no lane waits for it`() {
        var world = World()
        world.after(.setCategory("gpu", capacity: 20))
        world.add(categories: [CategoryUse(name: "gpu", units: 20)])
        world.turn()
        var waiting: [OperationID] = []
        for units in 1...20 as ClosedRange<Int32> {
            waiting.append(OperationID(world.add(categories: [CategoryUse(name: "gpu", units: units)])))
        }
        world.turn()
        func kinds() -> Int? {
            world.scheduler.categories.find("gpu").map { world.scheduler.categories[$0].parked.count }
        }
        #expect(kinds() == 20)
        world.after(.cancel(waiting, by: "ann", reason: nil, force: false))
        #expect(kinds() == 0)
    }

    @Test func `a category forgets many kinds of needs although a lane waits for it all the time`() {
        var world = World()
        world.after(.setCategory("gpu", capacity: 100))
        for _ in 0..<2 { world.add(categories: [CategoryUse(name: "gpu", units: 100)]) }
        world.turn()
        for units in 1...90 as ClosedRange<Int32> {
            let id = OperationID(world.add(categories: [CategoryUse(name: "gpu", units: units)]))
            world.turn()
            world.after(.cancel([id], by: "ann", reason: nil, force: false))
        }
        let kinds = world.scheduler.categories.find("gpu").map { world.scheduler.categories[$0].parked.count }
        #expect(kinds.map { $0 < 30 } == true)
        world.after(world.exit(1))
        #expect(world.executing == [2])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a category is known while it has users or settings`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = CategoryTable()
        let names = ["a", "b", "c", "d"]
        var held: [(set: CategorySetIndex?, uses: [CategoryUse])] = []
        var (capacities, rates): ([String: Int32], [String: Rate]) = ([:], [:])
        for _ in 0..<300 {
            switch random.below(10) {
            case 0..<4:
                let uses = (0..<random.below(3)).map { _ in
                    CategoryUse(
                        name: random.pick(names), mode: random.pick(CategoryUse.Mode.allCases),
                        units: Int32(1 + random.below(2)))
                }
                held.append((table.retain(uses), CategoryUse.strictest(uses)))
            case 4:
                guard !held.isEmpty else { continue }
                let again = random.pick(held)
                table.retain(again.set)
                held.append(again)
            case 5..<9:
                guard !held.isEmpty else { continue }
                table.release(held.remove(at: random.below(held.count)).set)
            default:
                let name = random.pick(names)
                let rate = random.chance(50) ? Rate(count: Int32(1 + random.below(3)), interval: 5) : nil
                let capacity = Int32(random.below(5))
                let category = table.set(CategorySettings(name: name, capacity: capacity, export: name, rate: rate))
                #expect(table.find(name) == category && table[category].settings.export == name)
                capacities[name] = capacity
                rates[name] = rate
            }
            for (set, uses) in held {
                #expect(table.uses(of: set) == uses)
                #expect(table.needs(of: set).map(\.mode) == uses.map(\.mode))
                #expect(table.needs(of: set).map(\.units) == uses.map(\.units))
                #expect(table.needs(of: set).map { table[$0.category].name } == uses.map(\.name))
            }
            let used = Set(held.flatMap { $0.uses.map(\.name) })
            for name in names {
                let category = table.find(name)
                #expect((category != nil) == (used.contains(name) || capacities[name] != nil))
                #expect(table.capacity(of: name) == capacities[name] ?? 1)
                guard let category else { continue }
                #expect(table[category].rate?.rate == rates[name])
                #expect(table.rated.count { $0 == category } == (rates[name] == nil ? 0 : 1))
            }
            #expect(table.pool.count == Set(used).union(capacities.keys).count)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a rate has room when too few starts lie within its interval`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var rate = Rate(count: 3, interval: 20)
        var window = RateWindow(rate)
        var (starts, unconfirmed, now) = ([MonotonicInstant](), 0, MonotonicInstant(nanoseconds: 100))
        for _ in 0..<600 {
            switch random.below(10) {
            case 0:
                rate = Rate(count: Int32(1 + random.below(5)), interval: .nanoseconds(Int64(10 + random.below(20))))
                window.change(rate)
            case 1..<4:
                window.begin()
                unconfirmed += 1
            case 4..<7:
                window.confirm(now)
                unconfirmed = max(0, unconfirmed - 1)
                starts = (starts + [max(now, starts.last ?? now)]).filter { $0 + rate.interval > now }
            case 7:
                // The clock of a report may be behind.
                let earlier = now - .nanoseconds(3)
                window.add(earlier)
                starts = (starts + [max(earlier, starts.last ?? 0)]).filter { $0 + rate.interval > earlier }
            default: now += .nanoseconds(Int64(random.below(12)))
            }
            let room = { (instant: MonotonicInstant) in
                starts.count { $0 + rate.interval > instant } + unconfirmed < rate.count
            }
            let instants = [.distantPast] + starts.map { $0 + rate.interval }
            #expect(window.nextStart == instants.filter(room).min())
            #expect(window.hasRoom(at: Moment(monotonic: now, wall: 0)) == room(now))
            #expect(window.checkInvariants(unconfirmed: Int32(unconfirmed)).isEmpty)
        }
    }

    @Test func `starts that no longer count take no memory`() {
        var window = RateWindow(Rate(count: 2, interval: 10))
        for instant in 0..<10_000 as Range<Int64> { window.add(MonotonicInstant(nanoseconds: instant)) }
        let kept = Mirror(reflecting: window).children.first { $0.label == "starts" }
            .map { Mirror(reflecting: $0.value).children.count }
        #expect((2...200).contains(kept ?? 0) && window.nextStart == 9998 + 10)
    }

    @Test func `a child uses no more of a category than its group has`() {
        let uses = [
            CategoryUse(name: "a", units: 1), CategoryUse(name: "a", units: 3), CategoryUse(name: "a", mode: .shared),
            CategoryUse(name: "a", mode: .exclusive),
        ]
        func isRefused(_ use: CategoryUse, _ share: CategoryUse?) -> Bool {
            do throws(Rejection) {
                try use.check(of: .local(0), fits: share)
                return false
            } catch {
                return error == .unitsExceedShare(use, .local(0), of: share ?? use)
            }
        }
        #expect(uses.map { isRefused($0, nil) } == [false, false, false, false])
        #expect(uses.map { isRefused($0, CategoryUse(name: "a", units: 2)) } == [false, true, false, false])
        #expect(uses.map { isRefused($0, CategoryUse(name: "a", units: 3)) } == [false, false, false, false])
        #expect(uses.map { isRefused($0, CategoryUse(name: "a", mode: .shared)) } == [true, true, false, true])
        #expect(uses.map { isRefused($0, CategoryUse(name: "a", mode: .exclusive)) } == [false, false, false, false])
    }
}

/// Small tables of decisions, each compared whole.
@Suite("Decision tables")
struct DecisionTableTests {
    @Test func `an edge on what has finished is met or impossible`() {
        for outcome in Outcome.allCases {
            for hasStarted in [false, true] {
                let status = EdgeCondition.allCases.map { $0.status(outcome, hasStarted: hasStarted) }
                let isSuccess = outcome == .succeeded
                #expect(
                    status == [
                        isSuccess ? .met : .impossible, .met, isSuccess ? .impossible : .met,
                        hasStarted ? .met : .impossible,
                    ])
                let fact = FinishedFact(outcome: outcome, root: 7, hasStarted: hasStarted, rootOutcome: .failed)
                for (when, status) in zip(EdgeCondition.allCases, status) {
                    #expect((fact.impossibility(of: when, on: 5) == nil) == (status == .met))
                }
            }
        }
    }

    @Test func `a skip counts unless nothing went wrong`() {
        for outcome in Outcome.allCases {
            for when in EdgeCondition.allCases {
                let isNeeded = outcome != .notNeeded && !(when == .failed && outcome == .succeeded)
                #expect(when.skip(after: outcome) == (isNeeded ? .skipped : .notNeeded))
            }
        }
        #expect(
            Outcome.allCases.filter(\.isUnsuccessful)
                == Outcome.allCases.filter { $0 != .succeeded && $0 != .notNeeded })
        #expect(Outcome.allCases.filter(\.isFailure) == [.failed, .timedOut, .interrupted])
    }

    @Test func `an operation that never started is named by those that waited for its start`() {
        #expect(Cause.skip(.started, 5, root: 5, .cancelled) == .neverStarted(root: 5))
        #expect(Cause.skip(.started, 5, root: 4, .failed) == .dependency(root: 4, .failed))
        #expect(Cause.skip(.succeeded, 5, root: 5, .failed) == .dependency(root: 5, .failed))
    }

    @Test func `ends are observed by their outcome`() {
        for outcome in Outcome.allCases {
            #expect(Observers.finish.observesEnd(outcome) && !Observers.start.observesEnd(outcome))
            #expect(Observers.failed.observesEnd(outcome) == outcome.isFailure)
        }
    }

    @Test func `an operation that returns is found among the others`() {
        var revival = Revival()
        for ids in [[], [4], [4, 9], [1, 4, 9, 12, 13], [2, 3, 4, 5, 6, 7, 8, 30]] as [[Int64]] {
            revival.operations = ids.map {
                Snapshot.Row(id: OperationID($0), graph: GraphID(1), state: .finished, attempt: 1, attemptsInRun: 1)
            }
            #expect((0...40).filter { revival.contains(OperationID($0)) } == ids)
        }
    }

    @Test func `timers are due by instant, then by operation, then by kind`() {
        var heap = TimerHeap<MonotonicTimer>()
        var expected: [TimerHeap<MonotonicTimer>.Entry] = []
        for at in [5, 9] as [MonotonicInstant] {
            for id in [1, 2, 7] as [Int64] {
                expected += [.timeout, .backoff, .recheck].map { TimerHeap.Entry(at: at, id: id, kind: $0) }
            }
        }
        var random = SeededGenerator(seed: 5)
        for entry in expected.shuffled(using: &random) { heap.add(entry) }
        var left: [TimerHeap<MonotonicTimer>.Entry] = []
        while let first = heap.first {
            left.append(first)
            heap.removeFirst()
        }
        #expect(left == expected)
    }

    @Test func `stale timers are counted again after a sweep`() {
        var heap = TimerHeap<WallTimer>()
        for id in 1...200 {
            heap.add(TimerHeap.Entry(at: WallInstant(nanoseconds: Int64(id)), id: Int64(id), kind: .deadline))
        }
        func marks(_ count: Int) -> [Bool] { (0..<count).map { _ in heap.markStale() } }
        #expect(marks(101) == Array(repeating: false, count: 100) + [true])
        heap.sweep { $0.id > 100 }
        #expect(heap.entries.count == 100 && heap.first?.id == 101)
        #expect(marks(65) == Array(repeating: false, count: 64) + [true])
    }
}

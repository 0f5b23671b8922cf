import Testing

@testable import OpsCore

@Suite struct RateTests {
    private func rate(_ count: Int32, _ seconds: Int64, capacity: Int32? = Limits.noCapacity) -> Event {
        .setCategory(
            "api", CategoryEdit(capacity: capacity, rate: .set(Rate(count: count, interval: .seconds(seconds)))))
    }

    private func states(_ world: World, _ ids: [Int64]) -> [OperationState?] { ids.map { world.state($0) } }

    @Test func `a window has room until as many starts as the rate allows lie within the interval`() {
        var window = RateWindow(Rate(count: 2, interval: 10))
        #expect(window.hasRoom(at: Moment(monotonic: 0, wall: 0)))
        window.add(5)
        window.add(7)
        #expect(window.nextStart == 15)
        #expect(!window.hasRoom(at: Moment(monotonic: 14, wall: 0)))
        #expect(window.hasRoom(at: Moment(monotonic: 15, wall: 0)))
        window.add(15)
        #expect(window.nextStart == 17)
    }

    @Test func `a start counts from the report of its process`() {
        var window = RateWindow(Rate(count: 1, interval: 10))
        window.begin()
        #expect(window.nextStart == nil)
        window.confirm(100)
        #expect(window.nextStart == 110)
        #expect(window.checkInvariants(unconfirmed: 0) == [])
        #expect(window.checkInvariants(unconfirmed: 1) != [])
    }

    @Test func `a smaller rate counts starts under the larger one, and a larger one all of them`() {
        var window = RateWindow(Rate(count: 3, interval: 10))
        for instant: MonotonicInstant in [1, 2, 3] { window.add(instant) }
        window.change(Rate(count: 1, interval: 10))
        #expect(window.nextStart == 13)
        window.change(Rate(count: 3, interval: 10))
        #expect(window.nextStart == 11)
    }

    @Test func `starts beyond the rate wait for the end of the interval, in order`() {
        var world = World(workers: 8)
        world.after(rate(2, 60))
        let ids = (0..<4).map { _ in world.add(categories: ["api"]) }
        world.turn()
        #expect(states(world, ids) == [.executing, .executing, .ready, .ready])
        #expect(world.scheduler.nextDeadline.monotonic == nil, "no process has been reported")
        for id in ids.prefix(2) { world.after(world.launch(id)) }
        let next = world.scheduler.nextDeadline.monotonic
        #expect(next == world.now.monotonic + .seconds(60))
        world.pass(seconds: 59)
        world.turn()
        #expect(states(world, ids) == [.executing, .executing, .ready, .ready])
        world.pass(seconds: 1)
        world.turn()
        #expect(states(world, ids) == [.executing, .executing, .executing, .executing])
    }

    @Test func `an end gives no start back`() {
        var world = World(workers: 8)
        world.after(rate(1, 60))
        let (first, second) = (world.add(categories: ["api"]), world.add(categories: ["api"]))
        world.turn()
        world.after(world.exit(first))
        #expect(world.state(second) == .ready)
        world.pass(seconds: 60)
        world.turn()
        #expect(world.state(second) == .executing)
    }

    @Test func `the reason names the rate and the instant of the next start`() throws {
        var world = World(workers: 8)
        world.after(rate(1, 60))
        let (first, second) = (world.add(categories: ["api"]), world.add(categories: ["api"]))
        world.turn()
        world.after(world.launch(first))
        let reason = try #require(world.scheduler.why(OperationID(second), at: world.now).first)
        #expect(reason.kind == .rate)
        let next = world.now.wall + .seconds(60)
        #expect(
            reason.detail == .rate(category: "api", Rate(count: 1, interval: .seconds(60)), next: next))
    }

    @Test func `a rate that is removed or raised lets the next start at once`() {
        var world = World(workers: 8)
        world.after(rate(1, 60))
        let ids = (0..<3).map { _ in world.add(categories: ["api"]) }
        world.turn()
        world.after(rate(2, 60))
        #expect(states(world, ids) == [.executing, .executing, .ready])
        world.after(.setCategory("api", CategoryEdit(rate: .clear)))
        #expect(states(world, ids) == [.executing, .executing, .executing])
    }

    /// After a restart opsd cannot know that the rate is newer than the start: it counts in both cases.
    @Test func `a start that is under way when a rate is set counts`() {
        var world = World(workers: 8)
        let first = world.add(categories: ["api"])
        world.turn()
        let launch = world.launch(first)
        world.after(rate(1, 60))
        let second = world.add(categories: ["api"])
        world.turn()
        #expect(world.state(second) == .ready)
        world.after(launch)
        #expect(world.scheduler.nextDeadline.monotonic == world.now.monotonic + .seconds(60))
        #expect(world.scheduler.checkInvariants() == [])
    }

    @Test func `a start without a process counts once its attempt is over, although its children remain`() {
        var world = World(workers: 8)
        world.after(rate(1, 60))
        let parent = world.add(categories: ["api"])
        world.turn()
        let child = world.add(flags: .held, child: parent)
        world.after(world.exit(parent, 1))
        let second = world.add(categories: ["api"])
        world.turn()
        #expect(states(world, [parent, child, second]) == [.executing, .ready, .ready])
        #expect(world.scheduler.nextDeadline.monotonic == world.now.monotonic + .seconds(60))
    }

    /// opsd died before the launch was stored, and hears of the exit alone.
    @Test func `a start of which only the exit is known counts, although processes are left behind`() {
        var world = World(workers: 8)
        world.after(rate(1, 60))
        let first = world.add(categories: ["api"]) { $0.leftovers = .wait }
        world.turn()
        world.after(world.exit(first, gone: false))
        let second = world.add(categories: ["api"])
        world.turn()
        #expect(states(world, [first, second]) == [.executing, .ready])
        world.pass(seconds: 60)
        world.turn()
        #expect(states(world, [first, second]) == [.executing, .executing])
    }

    @Test func `a larger rate counts the starts of the latest interval under the old one alone`() {
        var window = RateWindow(Rate(count: 2, interval: 10))
        for instant: MonotonicInstant in [1, 20] { window.add(instant) }
        window.change(Rate(count: 2, interval: 60))
        #expect(window.nextStart == .distantPast)
        window.add(21)
        #expect(window.nextStart == 80)
    }

    @Test func `a process that has started before its category gets a rate does not count`() {
        var world = World(workers: 8)
        let first = world.add(categories: ["api"])
        world.turn()
        world.after(world.launch(first))
        world.after(rate(1, 60))
        let second = world.add(categories: ["api"])
        world.turn()
        #expect(world.state(second) == .executing)
    }

    @Test func `an operation that waits for a rate keeps no other category from others`() {
        var world = World(workers: 8)
        world.after(rate(1, 3600))
        let first = world.add(categories: ["api"])
        world.turn()
        world.after(world.launch(first))
        let kept = world.add(categories: ["api", "disk"])
        // It is overtaken more often than an operation that waits only for categories.
        for _ in 0..<20 {
            let other = world.add(categories: ["disk"])
            world.turn()
            #expect(world.state(other) == .executing)
            world.after(world.exit(other))
        }
        #expect(world.state(kept) == .ready)
    }
}

import OpsCore
import Testing

/// Starts of jobs, and operations that wait beside them.
extension ExternalAttemptTests {
    @Test func `an edge on the start of a job that has started is met, also after its failure`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        #expect(!world.scheduler.isExecutorInUse("slurm"))
        world.turn()
        #expect(world.scheduler.isExecutorInUse("slurm"))
        let waiting = world.add(after: [1], when: .started, flags: .held)
        world.handle(report(.accepted(first, job: "4711")))
        world.after(report(.launched(first, process(world))))
        let later = world.add(after: [1], when: .started)
        world.turn()
        #expect(world.state(waiting) == .ready && world.state(later) == .executing)
        world.after(exit(world, 1))
        #expect(world.state(1) == nil && world.state(waiting) == .ready)
    }

    @Test func `a full executor and a full category are two obstacles: the operation reserves nothing`() {
        var world = world(window: 1)
        world.after(.setCategory("a", capacity: 3))
        let three = CategoryUse(name: "a", units: 3)
        world.add { $0.executor = "slurm" }
        world.add(categories: ["a"])
        world.turn()
        let waiting = world.add(categories: [three]) { $0.executor = "slurm" }
        world.turn()
        for _ in 0...Limits.overtakes {
            let narrow = world.add(categories: ["a"])
            world.turn()
            #expect(world.state(narrow) == .executing)
            world.after(world.exit(narrow))
        }
        #expect(world.state(waiting) == .ready)
    }

    @Test func `an executor that lost its state freezes the job when it has started it again`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        world.after(report(.launched(first, process(world))))
        world.after(.suspend(.operations([1]), freeze: true))
        world.after(report(.runnerLost))
        world.after(report(connection()))
        #expect(world.last.effects == [.external("slurm", .submit(first, job: nil, priority: 0))])
        world.after(report(.launched(first, process(world))))
        #expect(world.last.effects == [.external("slurm", .freeze(first))])
    }
}

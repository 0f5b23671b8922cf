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

    @Test func `an executor that is away is in use as long as an operation waits for it`() {
        var world = world(connected: false)
        world.add { $0.executor = "slurm" }
        world.turn()
        #expect(world.scheduler.isExecutorInUse("slurm") && !world.scheduler.isExecutorInUse("other"))
        world.after(.cancel([1], by: "root", reason: nil, force: false))
        #expect(!world.scheduler.isExecutorInUse("slurm"))
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

    @Test func `an exit counts as a start although the clock was set back since the commit`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        let waiting = world.add(after: [1], when: .started, flags: .held)
        world.turn()
        world.now.monotonic += .seconds(5)
        world.now.wall += .seconds(-3600)
        #expect(
            world.after(exit(world)) == [
                "job started 1#1", "launched 1#1", "ready 2", "exited 1#1", "ended 1#1 succeeded",
                "finished 1 succeeded",
            ])
        #expect(world.state(waiting) == .ready)
    }

    @Test func `a cancelled job finishes at the instant at which it ended, however late the report is`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        world.after(.cancel([1], by: "root", reason: nil, force: false))
        let end = ExternalEnd(outcome: .cancelled, cause: "cancelled before its start", at: world.now)
        world.pass(seconds: 60)
        #expect(world.after(report(.ended(first, end))) == ["ended 1#1 cancelled", "finished 1 cancelled by root"])
        let finishes: [WallInstant] = world.last.changes.compactMap {
            if case .finished(_, _, _, let at) = $0 { at } else { nil }
        }
        #expect(finishes == [end.at.wall])
    }

    @Test func `impossible numbers of an update count as zero, and its texts become one line`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        let sent = OperationUpdate(status: "1\n2", progressDone: -1, progressTotal: -2, result: "\u{1B}[2J")
        world.after(report(.updated(first, sent)))
        let stored: [OperationUpdate] = world.last.changes.compactMap {
            if case .updated(_, let update) = $0 { update } else { nil }
        }
        #expect(stored == [OperationUpdate(status: "1 2", progressDone: 0, progressTotal: 0, result: " [2J")])
        world.after(report(.launchFailed(first, step: "copy\tin", errno: 5)))
        #expect(world.last.changes.map(brief).last == "finished 1 failed cannot start copy in 5")
    }
}

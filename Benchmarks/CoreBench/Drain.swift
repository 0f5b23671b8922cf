internal import OpsCore

/// A scheduler with a runner that ends every attempt as soon as it is asked for.
struct Driven {
    private(set) var scheduler: Scheduler
    private var now = Moment(monotonic: .zero + .seconds(1), wall: .zero + .seconds(1_700_000_000))
    private var launched: [AttemptID] = []

    init(workers: Int32) {
        scheduler = Scheduler(Snapshot(), workers: workers, at: now)
        _ = scheduler.handle(.runnerConnected(Inventory(runner: "r", boot: "b")), at: now)
        endTurn()
    }

    /// True when it was taken.
    @discardableResult
    mutating func handle(_ event: Event) -> Bool {
        if case .success = scheduler.handle(event, at: now) { true } else { false }
    }

    func why(_ id: OperationID) -> [Reason] { scheduler.why(id, at: now) }

    func whatIf(_ event: Event) {
        var copy = scheduler
        _ = copy.handle(event, at: now)
        _ = copy.endTurn(at: now)
    }

    mutating func endTurn() {
        now += .nanoseconds(1000)
        for effect in scheduler.endTurn(at: now).effects {
            if case .launch(let attempt, _) = effect { launched.append(attempt) }
        }
    }

    /// Ends what was launched, turn by turn, until nothing is; gives back how many that were.
    mutating func drain() -> Int {
        var ended = 0
        while !launched.isEmpty {
            let attempts = launched
            launched.removeAll(keepingCapacity: true)
            for attempt in attempts {
                handle(.exited(attempt, ProcessExit(status: .code(0), at: now), treeIsGone: true))
            }
            ended += attempts.count
            endTurn()
        }
        return ended
    }
}

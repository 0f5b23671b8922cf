/// Work that is done once after each `schedule`: in this turn after its events, or in the next turn.
public final class DeferredWork {
    private unowned let loop: EventLoop
    private let work: () -> Void
    private var isScheduled = false

    public init(_ loop: EventLoop, _ work: @escaping () -> Void) {
        self.loop = loop
        self.work = work
    }

    public func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        loop.add(self)
    }

    func perform() {
        isScheduled = false
        work()
    }
}

/// What a runner says of itself on connection.
public struct Inventory: Hashable, Sendable {
    public enum Entry: Hashable, Sendable {
        case running(Process)
        /// The main process has ended; others of the tree are alive.
        case exited(Exit)
        case gone(Exit)
        case failed(step: String, errno: Int32)
    }
    /// Made anew by each runner process that starts with empty hands (not by one that re-executes itself).
    public var runner: String
    public var boot: String
    public var entries: [AttemptID: Entry]
    /// What those of `entries` have said until now: it may have been said to an opsd that died before storing it.
    public var updates: [AttemptID: OperationUpdate]
    /// It starts nothing any more: what was ordered and is not in `entries` never will be.
    public var isEnding: Bool
    /// Where they execute, as far as the runner still knows.
    public var slotStarts: [AttemptID: SlotStart]
    /// It can hold launches for later; an older one cannot.
    public var acceptsStaging: Bool
    /// What it holds may wait for the success of others.
    public var acceptsWaiting: Bool
    public init(
        runner: String, boot: String, entries: [AttemptID: Entry] = [:], updates: [AttemptID: OperationUpdate] = [:],
        isEnding: Bool = false, slotStarts: [AttemptID: SlotStart] = [:], acceptsStaging: Bool = false,
        acceptsWaiting: Bool = false
    ) {
        self.isEnding = isEnding
        self.runner = runner
        self.boot = boot
        self.entries = entries
        self.updates = updates
        self.slotStarts = slotStarts
        self.acceptsStaging = acceptsStaging
        self.acceptsWaiting = acceptsWaiting
    }
}

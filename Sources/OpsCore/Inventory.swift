/// The state of a runner on connection.
public struct Inventory: Hashable, Sendable, Codable {
    /// Id of the runner. A runner that executes itself again keeps its id.
    public var runner: String
    public var boot: String
    public var entries: [AttemptID: AttemptState]
    /// Updates of `entries` until now. An earlier opsd may have received them and ended before it stored them.
    public var updates: [AttemptID: OperationUpdate]
    /// True if the runner is ending: a launch that is not in `entries` will never start.
    public var isEnding: Bool
    /// Slots and instants of the starts that the runner still remembers.
    public var slotStarts: [AttemptID: SlotStart]
    /// True if the runner can hold staged launches; an older runner cannot.
    public var acceptsStaging: Bool
    /// True if staged launches may wait for the success of others.
    public var acceptsWaiting: Bool
    public init(
        runner: String, boot: String, entries: [AttemptID: AttemptState] = [:],
        updates: [AttemptID: OperationUpdate] = [:],
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

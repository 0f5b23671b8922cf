/// The slot and the instant at which a runner started a staged launch.
public struct SlotStart: Hashable, Sendable, Codable {
    public var slot: Int32
    public var at: Moment
    public init(slot: Int32, at: Moment) {
        self.slot = slot
        self.at = at
    }
}

/// Number of waiting operations that do not take turns: held ones, and ready ones that wait for an instant.
public struct SetApart: Equatable, Sendable, Codable {
    public internal(set) var heldPending = 0
    public internal(set) var heldReady = 0
    public internal(set) var scheduled = 0

    public var held: Int { heldPending + heldReady }
}

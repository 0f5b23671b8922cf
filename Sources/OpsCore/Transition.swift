/// The result of one turn. `changes` and `reports` are committed together; `effects` and replies follow that commit.
public struct Transition: Sendable, Codable {
    public var changes: [Change] = []
    public var reports: [Report] = []
    public var effects: [Effect] = []
    public init() {}
}

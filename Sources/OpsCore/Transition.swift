/// All that one turn leaves to do: first `changes` and `reports` in one commit, only then `effects` and replies.
public struct Transition: Sendable, Codable {
    public var changes: [Change] = []
    public var reports: [Report] = []
    public var effects: [Effect] = []
    public init() {}
}

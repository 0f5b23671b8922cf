/// State of a job in the words of its engine.
public struct EngineState: Hashable, Sendable, Codable {
    public var text: String
    /// Wall instant.
    public var expectedStart: Int64?
    public init(_ text: String, expectedStart: Int64? = nil) {
        self.text = text
        self.expectedStart = expectedStart
    }
}

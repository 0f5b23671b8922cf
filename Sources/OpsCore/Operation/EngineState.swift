/// State of a job in the words of its engine.
public struct EngineState: Hashable, Sendable, Codable {
    public var text: String
    public var expectedStart: WallInstant?
    public init(_ text: String, expectedStart: WallInstant? = nil) {
        self.text = text
        self.expectedStart = expectedStart
    }
}

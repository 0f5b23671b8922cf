/// Order of operations of equal effective priority.
public enum QueueOrder: UInt8, Hashable, Sendable, CaseIterable, Codable {
    case submission
    case longestPath

    public init?(text: String) {
        guard let order = Self.allCases.first(where: { $0.text == text }) else { return nil }
        self = order
    }

    public var text: String {
        switch self {
        case .submission: "submission"
        case .longestPath: "longestPath"
        }
    }
}

/// Names of priorities.
public enum PriorityName: String, Sendable, CaseIterable {
    case veryLow, low, normal, high, veryHigh

    public static let words = allCases.map(\.rawValue)
    public static let all = allCases.map(\.rawValue).joined(separator: ", ")

    public var value: Int8 {
        switch self {
        case .veryLow: -8
        case .low: -4
        case .normal: 0
        case .high: 4
        case .veryHigh: 8
        }
    }
}

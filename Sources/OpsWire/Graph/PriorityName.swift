/// The words for priorities.
enum PriorityName: String, Sendable, CaseIterable {
    case veryLow, low, normal, high, veryHigh

    static let all = allCases.map(\.rawValue).joined(separator: ", ")

    var value: Int8 {
        switch self {
        case .veryLow: -8
        case .low: -4
        case .normal: 0
        case .high: 4
        case .veryHigh: 8
        }
    }
}

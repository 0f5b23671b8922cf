/// Condition of an edge: the event of the dependency after which the dependent may start.
public enum EdgeCondition: String, Sendable, CaseIterable, Codable {
    case succeeded, finished, failed, started

    /// Index of the case, in two bits.
    public var bits: UInt8 {
        switch self {
        case .succeeded: 0
        case .finished: 1
        case .failed: 2
        case .started: 3
        }
    }
}

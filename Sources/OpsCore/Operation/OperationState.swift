/// The state of an operation. It only moves downwards in this list, except for the two ways back that
/// the contract names: an automatic retry, and an edge added to a ready operation.
public enum OperationState: UInt8, Sendable, CaseIterable, Codable {
    /// A dependency, a barrier or its group is outstanding.
    case pending
    /// Only its turn is missing.
    case ready
    case executing
    case finished
}

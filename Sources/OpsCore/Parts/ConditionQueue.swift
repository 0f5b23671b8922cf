/// Which conditions are being evaluated, which answers stand, and which lanes wait for an evaluation to be free.
struct ConditionQueue {
    private var inquiries: [OperationIndex: Inquiry] = [:]
    private(set) var evaluating = 0
    private var lastToken: Int64 = 0
    /// Lanes that wait for an evaluation to be free.
    var parked = LaneHeap()

    var hasFreeEvaluation: Bool { evaluating < Limits.evaluationsAtOnce }

    subscript(operation: OperationIndex) -> Inquiry? { inquiries[operation] }

    /// Operations whose conditions are being evaluated.
    var asking: [OperationIndex] { inquiries.filter { $0.value.isAsking }.map(\.key).sorted() }

    /// Starts an evaluation and returns its token.
    mutating func ask(_ operation: OperationIndex) -> Int64 {
        lastToken += 1
        evaluating += 1
        inquiries[operation] = Inquiry(token: lastToken, isAsking: true)
        return lastToken
    }

    /// Ends an evaluation; false when the answer is to an earlier question or to none.
    mutating func answer(_ operation: OperationIndex, token: Int64) -> Bool {
        guard let inquiry = inquiries[operation], inquiry.token == token, inquiry.isAsking else { return false }
        evaluating -= 1
        inquiries[operation]?.isAsking = false
        return true
    }

    /// Keeps a true answer until an instant of the monotonic clock.
    mutating func hold(_ operation: OperationIndex, until instant: Int64) {
        inquiries[operation]?.standsUntil = instant
    }

    mutating func noteFalse(_ operation: OperationIndex, index: Int32) { inquiries[operation]?.falseIndex = index }

    /// Rests a false answer until an instant of the monotonic clock.
    mutating func rest(_ operation: OperationIndex, until instant: Int64) {
        inquiries[operation]?.askAgainAt = instant
    }

    /// Forgets an operation; returns its inquiry, whose evaluation no longer counts.
    mutating func remove(_ operation: OperationIndex) -> Inquiry? {
        guard let inquiry = inquiries.removeValue(forKey: operation) else { return nil }
        if inquiry.isAsking { evaluating -= 1 }
        return inquiry
    }

    func checkInvariants() -> [String] {
        let counted = inquiries.values.count { $0.isAsking }
        var broken: [String] = []
        if counted != evaluating { broken.append("conditions: \(evaluating) evaluations, not \(counted)") }
        if evaluating > Limits.evaluationsAtOnce { broken.append("conditions: \(evaluating) evaluations at once") }
        if inquiries.values.contains(where: { $0.token > lastToken }) { broken.append("conditions: a token is ahead") }
        return broken
    }
}

/// Evaluations of conditions: those that run, results that are valid, and lanes that wait for a free evaluation.
///
/// Evaluations may be slow, so users share them. A free one is for the waiting user who has the fewest, and among equals for
/// the one who has waited longest. Privileged users count as one and may have all, and the last free one is for them alone.
/// An ordinary user gets one only while more of the others are free than this user has, even if nobody else waits: an
/// evaluation cannot be interrupted for another user.
struct ConditionQueue: Codable {
    /// Nil: a privileged user.
    typealias User = UInt32?

    private var inquiries: [OperationIndex: Inquiry] = [:]
    private(set) var evaluating = 0
    private var evaluatingOfUsers: [User: Int] = [:]
    private var lastToken: Int64 = 0
    /// Lanes of each user that wait for an evaluation to be free.
    var parked: [User: LaneHeap] = [:]
    /// Users whose lanes wait, in the order in which they are served among equals.
    private var line: [User] = []

    subscript(operation: OperationIndex) -> Inquiry? { inquiries[operation] }

    /// Operations whose conditions are being evaluated.
    var evaluated: [OperationIndex] { inquiries.filter { $0.value.isEvaluating }.map(\.key).sorted() }

    // MARK: Turns of users

    /// Returns whether an evaluation is free that a user may have.
    func hasFreeEvaluation(for user: User) -> Bool {
        user == nil
            ? evaluating < Limits.evaluationsAtOnce : evaluating + load(of: user) < Limits.evaluationsAtOnce - 1
    }

    /// Returns whether an evaluation is free for a user, and for no other user first.
    func isTurn(of user: User) -> Bool {
        hasFreeEvaluation(for: user) && (next.map { $0 == user || load(of: $0) > load(of: user) } ?? true)
    }

    /// The waiting user who is served next.
    var next: User? { line.filter(hasFreeEvaluation).min { load(of: $0) < load(of: $1) } }

    /// Lets a user wait for a turn.
    mutating func enterLine(_ user: User) { if !line.contains(user) { line.append(user) } }

    /// Forgets that a user waits.
    mutating func leaveLine(_ user: User) {
        line.removeAll { $0 == user }
        parked[user] = nil
    }

    private func load(of user: User) -> Int { evaluatingOfUsers[user] ?? 0 }

    private mutating func count(_ step: Int, of user: User) {
        evaluating += step
        let load = load(of: user) + step
        evaluatingOfUsers[user] = load == 0 ? nil : load
    }

    // MARK: Questions and answers

    /// Starts an evaluation and returns its token. Other waiting users come before the next evaluation of this user.
    mutating func start(_ operation: OperationIndex, of user: User) -> Int64 {
        lastToken += 1
        count(1, of: user)
        inquiries[operation] = Inquiry(user: user, token: lastToken, isEvaluating: true)
        if let index = line.firstIndex(of: user) { line.append(line.remove(at: index)) }
        return lastToken
    }

    /// Ends an evaluation. Returns false if its token is not that of a running one.
    mutating func end(_ operation: OperationIndex, token: Int64) -> Bool {
        guard let inquiry = inquiries[operation], inquiry.token == token, inquiry.isEvaluating else { return false }
        count(-1, of: inquiry.user)
        inquiries[operation]?.isEvaluating = false
        return true
    }

    /// Keeps a true result until an instant.
    mutating func setValid(_ operation: OperationIndex, until instant: MonotonicInstant) {
        inquiries[operation]?.validUntil = instant
    }

    mutating func setFalse(_ operation: OperationIndex, index: Int32) { inquiries[operation]?.falseIndex = index }

    /// Has conditions that were false evaluated again at an instant.
    mutating func repeatEvaluation(of operation: OperationIndex, at instant: MonotonicInstant) {
        inquiries[operation]?.nextEvaluationAt = instant
    }

    /// Forgets an operation; returns its inquiry, whose evaluation no longer counts.
    mutating func remove(_ operation: OperationIndex) -> Inquiry? {
        guard let inquiry = inquiries.removeValue(forKey: operation) else { return nil }
        if inquiry.isEvaluating { count(-1, of: inquiry.user) }
        return inquiry
    }

    func checkInvariants() -> [String] {
        var counted: [User: Int] = [:]
        for inquiry in inquiries.values where inquiry.isEvaluating { counted[inquiry.user, default: 0] += 1 }
        var broken: [String] = []
        if counted != evaluatingOfUsers || counted.values.reduce(0, +) != evaluating {
            broken.append("conditions: \(evaluating) evaluations of \(evaluatingOfUsers), not \(counted)")
        }
        if evaluating > Limits.evaluationsAtOnce { broken.append("conditions: \(evaluating) evaluations at once") }
        for (user, count) in counted where count > Limits.evaluationsAtOnce / 2 {
            if let user { broken.append("conditions: \(count) evaluations of user \(user) at once") }
        }
        if inquiries.values.contains(where: { $0.token > lastToken }) { broken.append("conditions: a token is ahead") }
        if Set(line).count != line.count || !parked.keys.allSatisfy(line.contains) {
            broken.append("conditions: users of parked lanes are not in line once")
        }
        return broken
    }
}

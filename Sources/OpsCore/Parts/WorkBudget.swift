/// The number of operations that the present turn may still touch. Work beyond that is put off to the next turn.
struct WorkBudget: Codable {
    /// Operations that the turn may still touch; `Int.max`: no limit.
    private(set) var left = Int.max
    /// True if work was put off in this turn, or in the one before it.
    private(set) var hasPutOff = false

    var isLimited: Bool { left != .max }

    mutating func begin(_ limit: Int) {
        left = limit
        hasPutOff = false
    }

    mutating func end() { left = .max }

    /// Spends the weight of some work. Returns false if it is beyond the budget: it is put off, and all work after it.
    mutating func spend(_ weight: Int) -> Bool {
        guard isLimited else { return true }
        if !hasPutOff { left -= weight }
        hasPutOff = left < 0
        return !hasPutOff
    }

    /// A turn that has ended leaves no bound behind.
    func checkInvariants() -> [String] {
        isLimited ? ["10: a budget of \(left) operations outlives its turn"] : []
    }
}

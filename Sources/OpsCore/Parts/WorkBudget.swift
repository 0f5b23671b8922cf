/// How many more operations the present turn may touch. Work beyond that is put off to the next turn, as a whole.
struct WorkBudget {
    /// `Int.max`: as many as there are.
    private(set) var left = Int.max
    /// Whether work was put off in this turn, or in the one before it.
    private(set) var hasPutOff = false

    var isLimited: Bool { left != .max }

    mutating func begin(_ limit: Int) {
        left = limit
        hasPutOff = false
    }

    mutating func end() { left = .max }

    /// Whether work of this weight is within the budget; if not, it is put off, and all work after it.
    mutating func mayAfford(_ weight: Int) -> Bool {
        guard isLimited else { return true }
        if !hasPutOff { left -= weight }
        hasPutOff = left < 0
        return !hasPutOff
    }
}

/// Number of operations whose position in their categories is reserved, since they were overtaken often enough.
struct Reservations: Codable {
    private(set) var count = 0
    /// True if an operation that a reservation blocks may be free to start.
    private(set) var needsReview = false

    var isEmpty: Bool { count == 0 }

    mutating func add() { count += 1 }
    mutating func remove() { count -= 1 }

    /// Asks for a review, where there is something to review.
    mutating func requestReview() { if count > 0 { needsReview = true } }

    /// Returns whether a review is due, which then counts as made.
    mutating func beginReview() -> Bool {
        defer { needsReview = false }
        return needsReview
    }

    func checkInvariants(reserving: Int) -> [String] {
        count == reserving ? [] : ["6: \(count) reservations are counted, \(reserving) are there"]
    }
}

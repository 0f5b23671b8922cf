internal import OpsCore
internal import OpsStore

/// Number of finished operations. It is read when the database is opened, then updated by each commit.
struct FinishedCount {
    private var count: Int?

    init(_ count: Int? = nil) { self.count = count }

    mutating func value(_ history: History) throws(StoreError) -> Int {
        if let count { return count }
        let counted = try history.counts()[.finished] ?? 0
        count = counted
        return counted
    }

    mutating func count(_ reports: [Report]) {
        guard var count else { return }
        for report in reports {
            switch report.kind {
            case .finished: count += 1
            case .retrying: if report.old == .finished { count -= 1 }
            case .submitted, .ready, .started, .progress, .produced, .cancelling, .suspended, .resumed, .edited,
                .conditionFalse, .interrupted, .fired, .skipped, .missed, .refused:
                break
            }
        }
        self.count = count
    }

    /// Subtracts removed operations.
    mutating func remove(_ number: Int) { if let count { self.count = count - number } }

    /// Forgets the number, which something else has changed: the operations are counted again.
    mutating func forget() { count = nil }
}

/// The state of one turn. Between two turns it equals `TurnScratch()`.
struct TurnScratch: Equatable, Codable {
    /// Finishes in the order in which they were decided; the first `recordedCount` of them are recorded.
    private(set) var finishes: [PendingFinish] = []
    private var recordedCount = 0
    /// Operations that have finished in this turn.
    private(set) var finished: [FinishedOperation] = []
    /// Submissions that were accepted in this turn.
    private(set) var submissions = 0
    /// True if nothing but reports of the runner was handled.
    var sawOnlyRunnerReports = true
    /// True if a short attempt has succeeded.
    var sawShortRun = false
    /// An empty buffer for the edges of one operation.
    var edges: [EdgeIndex] = []

    subscript(index: FinishedIndex) -> FinishedOperation { finished[index.offset] }

    mutating func addPending(_ finish: PendingFinish) { finishes.append(finish) }

    var hasPending: Bool { recordedCount < finishes.count }

    /// Returns the next finish to record, which then counts as recorded.
    mutating func popPending() -> PendingFinish? {
        guard recordedCount < finishes.count else { return nil }
        recordedCount += 1
        return finishes[recordedCount - 1]
    }

    /// Empties the list of finishes, which are all recorded.
    mutating func forgetRecorded() {
        guard recordedCount > 0 else { return }
        finishes.removeAll(keepingCapacity: finishes.count < 4096)
        recordedCount = 0
    }

    /// Adds an operation whose finish is recorded.
    mutating func add(_ finished: FinishedOperation) -> FinishedIndex {
        self.finished.append(finished)
        return FinishedIndex(rawValue: Int32(self.finished.count - 1))
    }

    mutating func removeFinished() { finished.removeAll(keepingCapacity: finished.count < 4096) }

    /// Counts a submission and returns its number in this turn, from 0.
    mutating func numberSubmission() -> Int {
        defer { submissions += 1 }
        return submissions
    }

    /// Returns the buffer of edges. The caller passes it to `returnEdges` after use, so that its memory is used again.
    mutating func borrowEdges() -> [EdgeIndex] {
        var result: [EdgeIndex] = []
        swap(&result, &edges)
        return result
    }

    mutating func returnEdges(_ buffer: consuming [EdgeIndex]) {
        buffer.removeAll(keepingCapacity: buffer.count < 4096)
        edges = buffer
    }

    /// Lets the numbers of submissions begin at 0 again.
    mutating func endTurn() { submissions = 0 }

    /// Forgets which kinds of reports were handled.
    mutating func forgetReports() {
        sawOnlyRunnerReports = true
        sawShortRun = false
    }

    func checkInvariants() -> [String] {
        guard self != TurnScratch() else { return [] }
        return ["10: \(finishes.count) finishes and \(finished.count) finished operations are left after the turn"]
    }
}

/// The state of one turn. Between two turns it equals `TurnScratch()`.
struct TurnScratch: Equatable, Codable {
    /// Ends in the order in which they were decided; the first `concluded` of them are recorded.
    private(set) var decided: [PendingFinish] = []
    private var concluded = 0
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

    mutating func decide(_ decision: PendingFinish) { decided.append(decision) }

    var hasDecision: Bool { concluded < decided.count }

    /// The next decision that is not recorded.
    mutating func nextDecision() -> PendingFinish? {
        guard concluded < decided.count else { return nil }
        concluded += 1
        return decided[concluded - 1]
    }

    /// Forgets the decisions, which are all recorded.
    mutating func forgetDecisions() {
        guard concluded > 0 else { return }
        decided.removeAll(keepingCapacity: decided.count < 4096)
        concluded = 0
    }

    mutating func add(_ finished: FinishedOperation) -> FinishedIndex {
        self.finished.append(finished)
        return FinishedIndex(rawValue: Int32(self.finished.count - 1))
    }

    mutating func forgetFinished() { finished.removeAll(keepingCapacity: finished.count < 4096) }

    /// The number of the next submission of this turn.
    mutating func numberSubmission() -> Int {
        defer { submissions += 1 }
        return submissions
    }

    /// Gives out the buffer of edges, to be handed back by `keep`.
    mutating func borrowEdges() -> [EdgeIndex] {
        var result: [EdgeIndex] = []
        swap(&result, &edges)
        return result
    }

    mutating func returnEdges(_ buffer: consuming [EdgeIndex]) {
        buffer.removeAll(keepingCapacity: buffer.count < 4096)
        edges = buffer
    }

    /// Begins the numbers of submissions again.
    mutating func endTurn() { submissions = 0 }

    /// Forgets which events were handled.
    mutating func forgetReports() {
        sawOnlyRunnerReports = true
        sawShortRun = false
    }

    func checkInvariants() -> [String] {
        self == TurnScratch() ? [] : ["10: \(decided.count) decisions and \(finished.count) ends outlive their turn"]
    }
}

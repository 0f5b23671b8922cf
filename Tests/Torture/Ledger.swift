import Synchronization

/// Record of the clients' requests and of the replies to them, which all clients share.
final class Ledger: Sendable {
    /// One submission, identified by its key.
    struct Submission: Sendable {
        var key: String
        var operations: [Planned]
        /// Ids by name, once the submission is acknowledged.
        var ids: [String: Int]?
        var graph: String?
    }
    /// A call, and the time from it to its reply.
    struct Answer: Sendable { var method: String, time: ClosedRange<Double> }
    struct Edge: Sendable, Hashable { var id: Int, on: Int, when: String }
    /// New limit of a queue, or of the pool if `queue` is nil.
    struct Limit: Sendable {
        var queue: String?
        var value: Int
        /// Instants between which the limit came into force. `before` stays infinite if the reply was lost: then the
        /// limit may be in force or not.
        var after: Double
        var before = Double.infinity
    }

    struct Page: Sendable {
        var submissions: [String: Submission] = [:]
        /// Acknowledged ids, oldest first, and their graphs.
        var ids: [Int] = []
        var graphs: [String] = []
        /// Operations for which a client requested a cancel, successfully or not.
        var mayBeCancelled: Set<Int> = []
        var graphsThatMayBeCancelled: Set<String> = []
        /// Operations whose cancel the daemon acknowledged.
        var cancelled: Set<Int> = []
        var mayBeRetried: Set<Int> = []
        var retried: Set<Int> = []
        /// Added edges, each with the number of an event at which it was already stored.
        var edgesAdded: [Edge: Int] = [:]
        /// Edges that some client may have removed.
        var edgesInDoubt: Set<Edge> = []
        var calls: [String: Int] = [:]
        var answered: [Answer] = []
        var limits: [Limit] = []
        var findings: [String] = []
    }

    private let page = Mutex(Page())
    private let whenFound = Mutex<(@Sendable (Int, String) -> Void)?>(nil)

    func write<T: Sendable>(_ change: (inout sending Page) -> sending T) -> T { page.withLock { change(&$0) } }
    func read<T: Sendable>(_ look: (borrowing Page) -> T) -> T { page.withLock { look($0) } }

    var copy: Page { page.withLock { $0 } }

    /// Records a violation that was seen during the run.
    func find(_ text: String) {
        let count = page.withLock {
            $0.findings.append(text)
            return $0.findings.count
        }
        whenFound.withLock { $0 }?(count, text)
    }

    /// Sets the function that gets the number and the text of each finding, so that it can save what is lost later.
    func onFinding(_ keep: @escaping @Sendable (Int, String) -> Void) { whenFound.withLock { $0 = keep } }

    func count(_ what: String) { page.withLock { $0.calls[what, default: 0] += 1 } }

    /// Records that a submission was acknowledged: from now on it must never be missing.
    func acknowledge(_ key: String, graph: String, ids: [String: Int]) {
        page.withLock { page in
            page.submissions[key]?.ids = ids
            page.submissions[key]?.graph = graph
            page.ids += ids.values.sorted()
            page.graphs.append(graph)
        }
    }
}

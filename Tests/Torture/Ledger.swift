import Synchronization

/// Requests of the clients and the answers to them; the only thing that clients share.
final class Ledger: Sendable {
    /// One submission, known by its key.
    struct Submission: Sendable {
        var key: String
        var operations: [Planned]
        /// Ids by name, once it was acknowledged.
        var ids: [String: Int]?
        var graph: String?
    }
    struct Edge: Sendable, Hashable { var id: Int, on: Int, when: String }
    /// A limit that was set, of a queue or (nil) of the pool.
    struct Limit: Sendable {
        var queue: String?
        var value: Int
        /// Instants between which it began to hold; never, if the answer was lost: then it may hold or not.
        var after: Double
        var before = Double.infinity
    }

    struct Page: Sendable {
        var submissions: [String: Submission] = [:]
        /// Acknowledged ids, oldest first, and their graphs.
        var ids: [Int] = []
        var graphs: [String] = []
        /// Operations that some client asked to cancel, successfully or not.
        var mayBeCancelled: Set<Int> = []
        var graphsThatMayBeCancelled: Set<String> = []
        /// The daemon said that it has stored a cancel for these.
        var cancelled: Set<Int> = []
        var mayBeRetried: Set<Int> = []
        var retried: Set<Int> = []
        /// With a sequence number by which each was stored.
        var edgesAdded: [Edge: Int] = [:]
        /// Edges that some client may have removed.
        var edgesInDoubt: Set<Edge> = []
        var calls: [String: Int] = [:]
        /// Instants of questions and of the answers to them.
        var answered: [ClosedRange<Double>] = []
        var limits: [Limit] = []
        var findings: [String] = []
    }

    private let page = Mutex(Page())
    private let whenFound = Mutex<(@Sendable (Int, String) -> Void)?>(nil)

    func write<T: Sendable>(_ change: (inout sending Page) -> sending T) -> T { page.withLock { change(&$0) } }
    func read<T: Sendable>(_ look: (borrowing Page) -> T) -> T { page.withLock { look($0) } }

    var copy: Page { page.withLock { $0 } }

    /// Something that must not be, seen while it ran.
    func find(_ text: String) {
        let count = page.withLock {
            $0.findings.append(text)
            return $0.findings.count
        }
        whenFound.withLock { $0 }?(count, text)
    }

    /// Called with the number and the text of each finding: something may have to be kept that is lost later.
    func onFinding(_ keep: @escaping @Sendable (Int, String) -> Void) { whenFound.withLock { $0 = keep } }

    func count(_ what: String) { page.withLock { $0.calls[what, default: 0] += 1 } }

    /// Acknowledged: from here on it must never be missing.
    func acknowledge(_ key: String, graph: String, ids: [String: Int]) {
        page.withLock { page in
            page.submissions[key]?.ids = ids
            page.submissions[key]?.graph = graph
            page.ids += ids.values.sorted()
            page.graphs.append(graph)
        }
    }
}

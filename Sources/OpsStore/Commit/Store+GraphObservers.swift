public import OpsCore

/// Commands that run when a graph has finished, or at its first failure: JSON arrays.
public struct GraphObservers: Equatable, Sendable {
    /// Occasions on which an observer of a graph runs, as bits of the column `ran`.
    public enum Occasion: Int64, Hashable, Sendable, CaseIterable {
        case failure = 1
        case finish = 2
    }

    public var finish: String?
    public var failure: String?

    public init(finish: String? = nil, failure: String? = nil) {
        self.finish = finish
        self.failure = failure
    }

    public func command(_ occasion: Occasion) -> String? { occasion == .finish ? finish : failure }
}

extension Store {
    func insert(_ observers: GraphObservers, of graph: GraphID) throws(StoreError) {
        let row = try kept("INSERT INTO graphObserver (graph, finish, failure) VALUES (?1, ?2, ?3)")
        row.bind(1, graph.rawValue)
        row.bind(2, observers.finish)
        row.bind(3, observers.failure)
        try row.run()
        observedGraphs.append(graph)
    }

    /// Lets the observers of a graph run again if it had finished before its operations were retried.
    func reopenObservers(ofSubmission first: Int64, at instant: WallInstant) throws(StoreError) {
        let row = try kept(
            """
            UPDATE graphObserver SET ran = 0, since = ?2
            WHERE ran >= 2 AND graph = (SELECT graph FROM submission WHERE first = ?1) RETURNING graph
            """)
        row.bind(1, first)
        row.bind(2, instant)
        defer { row.reset() }
        while try row.step() { observedGraphs.append(GraphID(row.int(0))) }
    }

    /// Returns the graphs whose observers have been stored or reopened since the last call.
    public func popObservedGraphs() -> [GraphID] {
        defer { observedGraphs = [] }
        return observedGraphs
    }

    /// Stores that observers of a graph have run.
    public func setRan(_ occasions: Set<GraphObservers.Occasion>, of graph: GraphID) throws(StoreError) {
        try change { () throws(StoreError) in
            let row = try kept("UPDATE graphObserver SET ran = ran | ?2 WHERE graph = ?1")
            row.bind(1, graph.rawValue)
            row.bind(2, occasions.reduce(0) { $0 | $1.rawValue })
            try row.run()
        }
    }

    /// Stores that a graph continues after an end that was reported to its observers.
    public func restartObservers(of graph: GraphID, at instant: WallInstant) throws(StoreError) {
        try change { () throws(StoreError) in
            let row = try kept("UPDATE graphObserver SET ran = 0, since = ?2 WHERE graph = ?1")
            row.bind(1, graph.rawValue)
            row.bind(2, instant)
            try row.run()
        }
    }
}

public import OpsCore

/// A graph with observers that have not all run.
public struct ObservedGraph: Sendable {
    public let graph: GraphID
    public var name: String?
    public let observers: GraphObservers
    public var ran: Set<GraphObservers.Occasion>
    /// Instant from which a failure counts for the observer of the first failure; 0: all do.
    public let since: WallInstant
    /// Number of its operations.
    public var count = 0
}

/// Progress of an observed graph.
public struct ObservedProgress: Sendable {
    public var count = 0
    public var unfinished = 0
    public var unsuccessful = 0
    /// The worst outcome of its operations, once all have finished.
    public var outcome: Outcome?
    public var finishedAt: WallInstant?
}

extension History {
    /// Returns the graphs whose observers have not all run.
    public func graphsWithOwedObservers() throws(StoreError) -> [GraphID] {
        let row = try statement("SELECT graph FROM graphObserver WHERE ran < 2")
        defer { row.reset() }
        var graphs: [GraphID] = []
        while try row.step() { graphs.append(GraphID(row.int(0))) }
        return graphs
    }

    public func observedGraph(_ graph: GraphID) throws(StoreError) -> ObservedGraph? {
        let row = try statement(
            """
            SELECT g.finish, g.failure, g.ran, g.since,
                (SELECT sum(s.count) FROM submission s WHERE s.graph = g.graph),
                (SELECT s.name FROM submission s WHERE s.graph = g.graph AND s.isNew)
            FROM graphObserver g WHERE g.graph = ?1
            """)
        row.bind(1, graph.rawValue)
        defer { row.reset() }
        guard try row.step() else { return nil }
        let ran = row.int(2)
        return ObservedGraph(
            graph: graph, name: row.optionalText(5),
            observers: GraphObservers(finish: row.optionalText(0), failure: row.optionalText(1)),
            ran: Set(GraphObservers.Occasion.allCases.filter { ran & $0.rawValue != 0 }), since: row.time(3),
            count: Int(row.int(4)))
    }

    /// Returns the number of unfinished operations of a graph. It reads no finished ones, which may be very many.
    public func unfinishedCount(of graph: GraphID) throws(StoreError) -> Int {
        let row = try statement(
            """
            SELECT count(*) FROM submission s CROSS JOIN operation o INDEXED BY operationUnfinished
                ON o.state IN (0, 1, 2) AND o.state < 3 AND o.id BETWEEN s.first AND s.first + s.count - 1
            WHERE s.graph = ?1
            """)
        row.bind(1, graph.rawValue)
        defer { row.reset() }
        return try row.step() ? Int(row.int(0)) : 0
    }

    /// Returns the operation of a graph that failed first, from an instant on. It reads only those that failed.
    public func firstFailure(of graph: GraphID, since: WallInstant) throws(StoreError) -> OperationID? {
        let row = try statement(
            """
            SELECT o.id FROM submission s CROSS JOIN operation o INDEXED BY operationUnsuccessful
                ON o.outcome IN (1, 2, 5) AND (o.outcome = 1 OR o.outcome = 2 OR o.outcome = 5)
                AND o.id BETWEEN s.first AND s.first + s.count - 1
            WHERE s.graph = ?1 AND o.finishedAt >= ?2
            ORDER BY o.finishedAt, o.flags & 1, o.id LIMIT 1
            """)
        row.bind(1, graph.rawValue)
        row.bind(2, since)
        defer { row.reset() }
        return try row.step() ? OperationID(row.int(0)) : nil
    }

    /// Counts all operations of a graph.
    public func progress(of graph: GraphID) throws(StoreError) -> ObservedProgress {
        var progress = ObservedProgress()
        let row = try statement(
            """
            SELECT count(*), sum(o.state < 3), sum(o.outcome NOT IN (0, 6)),
                min(CASE WHEN o.outcome NOT IN (0, 6) THEN o.outcome END), max(o.finishedAt)
            FROM submission s CROSS JOIN operation o ON o.id BETWEEN s.first AND s.first + s.count - 1
            WHERE s.graph = ?1
            """)
        row.bind(1, graph.rawValue)
        defer { row.reset() }
        guard try row.step(), row.int(0) > 0 else { return progress }
        progress.count = Int(row.int(0))
        progress.unfinished = Int(row.int(1))
        progress.unsuccessful = Int(row.int(2))
        if progress.unfinished == 0 {
            progress.outcome = row.optionalInt(3).flatMap(Outcome.init(stored:)) ?? .succeeded
            progress.finishedAt = row.optionalTime(4)
        }
        return progress
    }
}

internal import OpsCore
internal import OpsStore

/// Watchers of the event stream. Each continues at its own position when it has room, in an order that the server
/// decides. A block of events that several watchers read is made, and kept in memory, once.
final class Audience {
    private let history: History
    private var watchers: [ObjectIdentifier: WatchStream] = [:]
    private var tail = EventTail()
    /// Block that was read last, and the event before it. Most watchers are at the same position.
    private var shared: (after: Int64, block: EventBlock)?

    init(history: History) { self.history = history }

    func add(_ watcher: WatchStream) { watchers[ObjectIdentifier(watcher)] = watcher }

    func remove(_ watcher: WatchStream) {
        watchers[ObjectIdentifier(watcher)] = nil
        guard watchers.isEmpty else { return }
        tail.removeAll()
        shared = nil
    }

    /// Adds durable events, and resumes the watchers that have read all earlier ones.
    func publish(_ reports: [Report]) {
        guard !watchers.isEmpty, let last = reports.last else { return }
        tail.append(reports)
        // A copy, since a stream may end meanwhile.
        for watcher in Array(watchers.values) { watcher.eventsAvailable(upTo: last.sequence) }
    }

    /// Returns the events after an event, as many as one reader gets at a time; nil while there are none.
    func block(after sequence: Int64) throws(StoreError) -> EventBlock? {
        if let shared, shared.after == sequence { return shared.block }
        let block = try read(after: sequence)
        if let block { shared = (sequence, block) }
        return block
    }

    /// Returns true if this event is the newest.
    func isNewest(_ sequence: Int64) -> Bool { tail.last == sequence }

    private func read(after sequence: Int64) throws(StoreError) -> EventBlock? {
        if tail.reaches(sequence) { return tail.block(after: sequence) }
        // Blocks end at whole batches, so that watchers soon are at the same positions.
        let limit = DaemonLimits.eventsInABatch - Int(sequence % Int64(DaemonLimits.eventsInABatch))
        return EventBlock(try history.events(after: sequence, limit: limit))
    }
}

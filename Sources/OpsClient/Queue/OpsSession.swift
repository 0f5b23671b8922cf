internal import Glibc
internal import OpsWire
internal import Synchronization

/// Calls for queues and operations, and a thread that follows the events of the operations that were added.
final class OpsSession: Sendable {
    private struct Followed: Sendable {
        var operations: [Int64: OpsOperation] = [:]
        /// Number of the last event that was seen; nil if no thread follows events.
        var seen: Int64?
    }

    let path: String
    private let lock = Mutex(())
    /// Used only by the thread that holds the lock.
    nonisolated(unsafe) private var connection: Connection?
    private let followed = Mutex(Followed())

    private static let pause: UInt32 = 200_000

    init(path: String) { self.path = path }

    /// Calls a method. If the connection has ended, a new one is used, but a call that the daemon may have received is
    /// not repeated.
    func call<Request: WireRequest>(_ request: Request) throws(ClientError) -> Request.Reply {
        try withConnection { (connection) throws(ClientError) in try connection.call(request) }
    }

    func withConnection<Value>(
        _ body: (Connection) throws(ClientError) -> Value
    ) throws(ClientError) -> Value {
        try lock.withLock { (_) throws(ClientError) in
            do throws(ClientError) {
                let open: Connection
                // No reply is expected, so if there is something to read, it is the end of the connection.
                if let connection, try !connection.isClosed {
                    open = connection
                } else {
                    open = try Connection(path: path)
                }
                connection = open
                return try body(open)
            } catch {
                // A refusal does not end the connection.
                if case .refused = error { throw error }
                connection = nil
                throw error
            }
        }
    }

    // MARK: Following

    /// Submits operations and follows them. No event is lost, because the thread reads none while this runs.
    func add(_ operations: [OpsOperation], _ submission: Submission) throws(ClientError) -> SubmitReply {
        try followed.withLock { (followed) throws(ClientError) in
            let last: Int64
            if let seen = followed.seen { last = seen } else { last = try call(StatusRequest()).lastSeq }
            let reply = try withConnection { (connection) throws(ClientError) in try connection.submit(submission) }
            guard reply.count == operations.count else { return reply }
            for (index, operation) in operations.enumerated() {
                let id = reply.first + Int64(index)
                operation.added(as: id, to: self)
                followed.operations[id] = operation
            }
            if followed.seen == nil {
                followed.seen = last
                Detached.run { while self.followStream() {} }
            }
            return reply
        }
    }

    /// Follows one stream of events to its end; returns false if there is no operation left to follow, and the thread
    /// ends.
    private func followStream() -> Bool {
        do throws(ClientError) {
            let since = followed.withLock { $0.seen }
            var stream = try Connection(path: path).stream(WatchRequest.with { $0.since = since })
            while true {
                if endIfIdle() { return false }
                guard let reply = try stream.next() else { break }
                apply(reply.event)
            }
        } catch {
            catchUp()
        }
        return !endIfIdle()
    }

    /// Ends following if no operation is left, and returns whether it did: then the thread must end, because `add` may
    /// have started another one.
    private func endIfIdle() -> Bool {
        followed.withLock { followed in
            guard followed.operations.isEmpty else { return false }
            followed.seen = nil
            return true
        }
    }

    /// Continues after a stream that was too slow, or a restart of the daemon, by reading the rows of the operations.
    private func catchUp() {
        usleep(Self.pause)
        do throws(ClientError) {
            let last = try call(StatusRequest()).lastSeq
            try refresh(Array(followed.withLock { $0.operations.values }))
            followed.withLock { if $0.seen != nil { $0.seen = last } }
        } catch {
            // The daemon is not back yet: the next stream fails as well, and then this runs again.
        }
    }

    private func apply(_ event: EventRow) {
        let operation = followed.withLock { followed in
            followed.seen = event.seq
            return event.id.flatMap { followed.operations[$0] }
        }
        guard let operation else { return }
        let isCancelled = event.type == .cancelling || event.outcome == .cancelled
        guard let state = event.new else {
            if isCancelled { operation.withContent { $0.isCancelled = true } }
            return
        }
        update(operation, state, event.outcome, isCancelled)
    }

    private func update(
        _ operation: OpsOperation, _ state: StateName, _ outcome: OutcomeName?, _ isCancelled: Bool
    ) {
        operation.update(state: state, outcome: outcome, isCancelled: isCancelled)
        guard state == .finished, let id = operation.id else { return }
        followed.withLock { _ = $0.operations.removeValue(forKey: id) }
    }

    /// Reads the rows of operations. One that was removed had finished before, and its outcome is unknown.
    func refresh(_ operations: [OpsOperation]) throws(ClientError) {
        for operation in operations {
            guard let id = operation.id else { continue }
            do throws(ClientError) {
                let row = try call(ShowRequest.with { $0.ref = "\(id)" }).operation
                update(operation, row.state, row.outcome, row.cancelling || row.outcome == .cancelled)
            } catch {
                guard case .refused(.control(.notFound)) = error else { throw error }
                update(operation, .finished, nil, false)
            }
        }
    }

    /// Waits until operations have finished, even if the daemon restarts meanwhile.
    func wait(for ids: [Int64]) throws(ClientError) {
        for request in WaitRequest.parts(for: ids) { try finish(request) }
    }

    /// Waits until the operations of a request have finished.
    private func finish(_ request: WaitRequest) throws(ClientError) {
        var patience = Patience()
        while true {
            do throws(ClientError) {
                var stream = try Connection(path: path).stream(request)
                patience = Patience()
                while try stream.next() != nil {}
                return
            } catch { try patience.pause(after: error) }
        }
    }
}

internal import OpsSystem
public import OpsWire

/// A session for programs with tasks: calls block a thread of the library, never a thread of Swift's tasks.
public final class AsyncSession: Sendable {
    private let session: OpsSession

    /// Creates a session with the daemon that listens at a path. It connects with the first call.
    public init(path: String = SocketPath.find()) { session = OpsSession(path: path) }

    /// Calls a method and returns its reply. Calls of several tasks wait for one another.
    public func call<Request: WireRequest>(_ request: Request) async throws(ClientError) -> Request.Reply {
        let session = session
        let result: Result<Request.Reply, ClientError> = await Detached.value {
            do throws(ClientError) { return .success(try session.call(request)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Submits a graph.
    public func submit(_ graph: OpsGraph) async throws(ClientError) -> SubmitReply {
        let session = session
        let result: Result<SubmitReply, ClientError> = await Detached.value {
            do throws(ClientError) {
                return .success(
                    try session.withConnection { (connection) throws(ClientError) in try connection.submit(graph) })
            } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Waits until operations have finished, even if opsd restarts meanwhile.
    public func wait(for ids: [Int64]) async throws(ClientError) {
        let session = session
        let result: Result<Void, ClientError> = await Detached.value {
            do throws(ClientError) { return .success(try session.wait(for: ids)) } catch { return .failure(error) }
        }
        try result.get()
    }

    /// Returns the events after a number, or from now on. Events are received as fast as the task reads them. If opsd
    /// ends the connection because that is too slow, or restarts, the stream continues after the last event.
    public func events(since: Int64? = nil, of selection: Selection? = nil) -> AsyncThrowingStream<EventRow, any Error>
    {
        let reader = EventReader(path: session.path, since: since, selection: selection)
        let room: EventRoom
        do throws(SystemError) {
            room = try EventRoom()
        } catch {
            return AsyncThrowingStream { throw error }
        }
        let received = AsyncThrowingStream<EventRow, any Error> { continuation in
            continuation.onTermination = { _ in
                reader.end()
                room.add()
            }
            Detached.run {
                do throws(ClientError) {
                    try reader.run { event in
                        room.wait()
                        if case .terminated = continuation.yield(event) { return false }
                        return true
                    }
                    continuation.finish()
                } catch { continuation.finish(throwing: error) }
            }
        }
        return AsyncThrowingStream {
            var events = received.makeAsyncIterator()
            let event = try await events.next()
            room.add()
            return event
        }
    }
}

/// Room for the events of a stream that its task has not read yet. The thread that receives events waits for room.
private final class EventRoom: Sendable {
    private let tokens: Tokens

    /// Number of events that a stream holds for its task.
    private static let events: UInt32 = 1024

    init() throws(SystemError) { tokens = try Tokens(Self.events) }

    /// Adds room for one event.
    func add() {
        do throws(SystemError) { try tokens.add() } catch { preconditionFailure("\(error)") }
    }

    /// Waits for room for one event.
    func wait() {
        do throws(SystemError) {
            while try !tokens.acquire() { try tokens.descriptor.waitUntil(.readable) }
        } catch { preconditionFailure("\(error)") }
    }
}

extension Connection {
    /// Submits a graph, completely or not at all.
    public func submit(_ graph: OpsGraph) throws(ClientError) -> SubmitReply { try submit(graph.submission) }
}

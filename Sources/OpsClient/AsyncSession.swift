internal import Glibc
internal import OpsSystem
public import OpsWire

/// A session for programs with tasks: calls block a thread of the library, never a thread of Swift's tasks.
public final class AsyncSession: Sendable {
    private let session: OpsSession

    /// Number of events that a stream holds for its task.
    private static let heldEvents = 1024
    /// Microseconds between two attempts to add an event to a stream that holds as many as it may.
    private static let pause: UInt32 = 10_000

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
        let path = session.path
        return AsyncThrowingStream(bufferingPolicy: .bufferingOldest(Self.heldEvents)) { continuation in
            let reader = EventReader(path: path, since: since, selection: selection)
            continuation.onTermination = { _ in reader.end() }
            Detached.run {
                do throws(ClientError) {
                    try reader.run { event in
                        while true {
                            let result = continuation.yield(event)
                            if case .terminated = result { return false }
                            guard case .dropped = result else { return true }
                            usleep(Self.pause)
                        }
                    }
                    continuation.finish()
                } catch { continuation.finish(throwing: error) }
            }
        }
    }
}

extension Connection {
    /// Submits a graph, completely or not at all.
    public func submit(_ graph: OpsGraph) throws(ClientError) -> SubmitReply { try submit(graph.submission) }
}

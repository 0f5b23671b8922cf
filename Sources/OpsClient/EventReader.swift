internal import OpsWire
internal import Synchronization

/// Reads the event stream of a daemon, and reconnects if a connection ends.
final class EventReader: Sendable {
    private let path: String
    private let since: Int64?
    private let selection: Selection?
    private let isEnded = Mutex(false)

    init(path: String, since: Int64?, selection: Selection?) {
        self.path = path
        self.since = since
        self.selection = selection
    }

    /// Stops the reader before its next event, or within a second.
    func end() { isEnded.withLock { $0 = true } }

    /// Passes each event to `handle` until it returns false.
    func run(_ handle: (EventRow) -> Bool) throws(ClientError) {
        var seen = since
        var patience = Patience()
        while !isEnded.withLock({ $0 }) {
            do throws(ClientError) {
                let connection = try Connection(path: path)
                // "From now on" means from this point, even if the connection ends before the first event.
                if seen == nil { seen = try connection.call(StatusRequest()).lastSeq }
                var stream = try connection.stream(
                    WatchRequest.with { ($0.since, $0.selection) = (seen, selection) })
                patience = Patience()
                while !isEnded.withLock({ $0 }) {
                    guard let reply = try stream.next(within: 1000) else { continue }
                    seen = reply.event.seq
                    guard handle(reply.event) else { return }
                }
            } catch {
                if case .refused(.control(.lagged(let resume))) = error {
                    seen = resume
                } else {
                    try patience.pause(after: error)
                }
            }
        }
    }
}

internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// One event stream of the daemon, shared by all tabs. Each tab gets at most a few messages per second, and none before
/// it has read the previous one. So under heavy load, a slow tab only gets less detail.
final class EventHub {
    private final class Reader {
        /// State of the connection to the daemon, as it was last reported to a tab.
        enum Report { case unknown, lost, live }

        let stream = ByteStream()
        /// Number of the last event that was sent to this reader; nil if there was none.
        var cursor: Int64?
        var report = Report.unknown
    }

    private let path: String
    private let loop: EventLoop
    private var upstream: Upstream?
    private var history: EventHistory?
    private var isConnected = false
    private var readers: [ObjectIdentifier: Reader] = [:]
    private var tick: TimerSource<MonotonicInstant>?
    private var retry: TimerSource<MonotonicInstant>?
    private var lastBeat = MonotonicInstant.zero

    /// Time between two messages to a tab.
    static let interval = TimeSpan.milliseconds(200)
    /// Time between two keep-alive messages, which detect closed tabs.
    static let beat = TimeSpan.seconds(15)
    static let readerLimit = 256

    /// Called before tabs are informed of events, because they then read again.
    var willPublish: () -> Void = {}

    init(path: String, loop: EventLoop) throws(SystemError) {
        self.path = path
        self.loop = loop
        tick = try loop.timer(.monotonic, accuracy: 20_000) { [weak self] in self?.publish() }
        retry = try loop.timer(.monotonic, accuracy: 100_000) { [weak self] in self?.connect() }
    }

    /// Adds a tab that has seen the events up to `since`. Returns its stream and a function that removes the tab; nil
    /// if there are too many tabs.
    func join(since: Int64?) -> (ByteStream, () -> Void)? {
        guard readers.count < Self.readerLimit else { return nil }
        let reader = Reader()
        reader.cursor = since
        readers[ObjectIdentifier(reader)] = reader
        // A browser reports a connection as open when the first bytes arrive.
        reader.stream.append(Array("retry: 1000\n\n".utf8))
        if !isConnected, upstream == nil { connect() }
        arm()
        return (reader.stream, { [weak self] in self?.readers[ObjectIdentifier(reader)] = nil })
    }

    // MARK: The daemon

    private func connect() {
        guard !readers.isEmpty else { return }
        open(Call.frame(StatusRequest())) { hub, message in
            let status: StatusReply = try ReceivedReply(frame: message, isTolerant: true).result()
            hub.isConnected = true
            // Numbers smaller than the last one mean another database. More events than a history keeps are not read.
            let isContinued = hub.history.map { (0...Int64(EventHistory.limit)).contains(status.lastSeq - $0.head) }
            if isContinued != true { hub.history = EventHistory(after: status.lastSeq) }
            hub.watch()
        }
    }

    private func watch() {
        guard let history else { return }
        open(Call.frame(WatchRequest.with { $0.since = history.head }, more: true)) { hub, message in
            let reply = try ReceivedReply(frame: message, isTolerant: true)
            // Pruned events never come, so a new history begins after them.
            guard reply.error == nil else {
                hub.history = nil
                return hub.lose()
            }
            let event: WatchReply = try reply.result()
            hub.history?.add(event.event)
            hub.arm()
        }
        arm()
    }

    private func open(_ message: [UInt8], _ handler: @escaping (EventHub, [UInt8]) throws -> Void) {
        upstream?.cancel()
        do throws(SystemError) {
            upstream = try Upstream(message, to: path, loop: loop) { [weak self] event in
                guard let self else { return }
                switch event {
                case .reply(let message): do { try handler(self, message) } catch { self.lose() }
                case .ended: self.lose()
                }
            }
        } catch {
            lose()
        }
    }

    private func lose() {
        upstream?.cancel()
        upstream = nil
        readers.values.forEach(reportLost)
        isConnected = false
        arm(retry, after: .seconds(1))
    }

    /// Reports to a tab that the daemon is not connected, unless the last report says so.
    private func reportLost(_ reader: Reader) {
        guard reader.report != .lost else { return }
        reader.report = .lost
        reader.stream.append(Array("event: lost\ndata: {}\n\n".utf8))
    }

    // MARK: The tabs

    private func publish() {
        let now = Clock.read().monotonic
        if now - lastBeat > Self.beat {
            lastBeat = now
            for reader in readers.values where reader.stream.count == 0 { reader.stream.append(Array(":\n\n".utf8)) }
        }
        if readers.isEmpty {
            // Without tabs the daemon need not send events.
            upstream?.cancel()
            upstream = nil
            isConnected = false
            return
        }
        if isConnected, let history {
            let behind = readers.values.filter { isBehind($0) && $0.stream.count == 0 }
            if !behind.isEmpty { willPublish() }
            var messages: [Int64: [UInt8]] = [:]
            for reader in behind {
                let cursor = reader.cursor ?? history.head
                let message = messages[cursor] ?? history.summary(after: cursor)
                messages[cursor] = message
                reader.stream.append(message)
                reader.cursor = history.head
                reader.report = .live
            }
        }
        arm()
    }

    /// Returns whether a tab needs a summary, which may be empty: the page then knows that the daemon is connected.
    private func isBehind(_ reader: Reader) -> Bool { reader.report != .live || reader.cursor != history?.head }

    private func arm() {
        let isLate = isConnected && readers.values.contains(where: isBehind)
        if tick?.deadline == nil || isLate { arm(tick, after: isLate ? Self.interval : Self.beat) }
    }

    private func arm(_ timer: TimerSource<MonotonicInstant>?, after delay: TimeSpan) {
        let deadline = Clock.read().monotonic + delay
        if let current = timer?.deadline, current <= deadline { return }
        do throws(SystemError) { try timer?.arm(at: deadline) } catch { Program.writeError("opsd-web: \(error)") }
    }
}

internal import OpsClient
internal import OpsDrawing
internal import OpsWire

/// Output of any number of operations, each line with the name of its operation.
///
/// Without -f, operations are read one after the other over one connection. With -f, a limited number of running
/// operations is followed at once, and an event shows when the next one has started.
final class LogOfSelection {
    /// Events of the selected operations, and the end of the last of them, over two connections.
    private struct Progress {
        private let session: Session
        private var events: ReplyStream<WatchReply>
        private var ends: ReplyStream<WaitReply>

        /// Opens both streams. An operation that starts between this and the list of operations is in both; one that
        /// started earlier is in the list.
        init(_ session: Session, _ selection: Selection) throws(Failure) {
            self.session = session
            events = try session.open(WatchRequest.with { $0.selection = selection.ifAny })
            ends = try session.open(WaitRequest(selection))
        }

        /// True when all selected operations have finished.
        var isOver: Bool { ends.isOver }

        var descriptors: [Int32] { [ends.isOver ? -1 : ends.descriptor, events.descriptor] }

        /// Reads what has arrived on the `descriptors` with these indices; returns the operations that have started.
        mutating func read(_ readable: [Int]) throws(Failure) -> [Int64] {
            var started: [Int64] = []
            if readable.contains(0) {
                try session.speaking { () throws(ClientError) in try ends.receive() }
                while try session.speaking({ () throws(ClientError) in try ends.arrived() }) != nil {}
            }
            if readable.contains(1) {
                try session.speaking { () throws(ClientError) in try events.receive() }
                while let event = try session.speaking({ () throws(ClientError) in try events.arrived() })?.event {
                    // A start of a group has no attempt.
                    if event.type == .started, event.attempt != nil, let id = event.id { started.append(id) }
                }
            }
            return started
        }
    }

    private let session: Session
    private let selection: Selection
    private let request: LogFeed.Request
    private let writer: LogLineWriter
    private var width = 0
    private var count = 0
    /// Number of logs that were left out because they belong to other users.
    private var denied = 0
    /// Number of operations that are followed at once, each over its own connection.
    private static let followed = 64

    init(_ session: Session, _ selection: Selection, _ request: LogFeed.Request) {
        self.session = session
        self.selection = selection
        self.request = request
        writer = LogLineWriter(session, request)
    }

    func run() throws(Failure) -> ExitStatus {
        if request.follows { try follow() } else { for id in try ids(where: { _ in true }) { try readWhole(id) } }
        if denied > 0 {
            let logs = denied == 1 ? "1 log belongs to another user" : "\(denied) logs belong to other users"
            StandardError.line("opsctl: \(logs)")
        }
        return .done
    }

    /// Returns the selected operations that have output, or may have output later.
    private func ids(where isWanted: (OperationRow) -> Bool) throws(Failure) -> [Int64] {
        var ids: [Int64] = []
        try LsVerb.each(session, selection, limit: nil) { row in
            guard !row.isGroup else { return }
            width = max(width, min(40, DisplayWidth.of((row.name ?? "\(row.id)").printable)))
            if row.attempt > 0, isWanted(row) { ids.append(row.id) }
        }
        return ids
    }

    /// Returns the log of an operation; nil if the operation was removed meanwhile.
    private func source(_ id: Int64, isShared: Bool) throws(Failure) -> LogSource? {
        guard let feed = try LogFeed.ofSelected(session, id, request, isShared: isShared) else { return nil }
        defer { count += 1 }
        let name = DisplayWidth.pad((feed.name ?? "\(id)").printable, width)
        return LogSource(feed, name: name, index: count, session.style)
    }

    private func readWhole(_ id: Int64) throws(Failure) {
        guard let opened = try source(id, isShared: true) else { return }
        while opened.feed.isOpen { try opened.read(session, writer) }
        countIfDenied(opened)
    }

    /// Counts a log that is not shown because it belongs to another user.
    private func countIfDenied(_ source: LogSource) {
        if source.feed.isDenied { denied += 1 }
    }

    private func follow() throws(Failure) {
        var progress = try Progress(session, selection)
        var waiting = try ids { _ in true }[...]
        var active: [Int64: LogSource] = [:]
        var seen: Set<Int64> = []
        while true {
            while active.count < Self.followed, let id = waiting.popFirst() {
                guard seen.insert(id).inserted, let opened = try source(id, isShared: false) else { continue }
                if opened.feed.isOpen { active[id] = opened } else { countIfDenied(opened) }
            }
            if active.isEmpty, progress.isOver {
                // Operations that started and ended without an event in between.
                for id in try ids(where: { !seen.contains($0.id) }) { try readWhole(id) }
                return
            }
            let sources = active.map { (id: $0.key, source: $0.value) }
            let descriptors = progress.descriptors + sources.map { $0.source.feed.descriptor }
            let readable = Readable.among(descriptors)
            do throws(Failure) {
                waiting += try progress.read(readable)
            } catch {
                try session.awaitReturn(after: error)
                progress = try Progress(session, selection)
                // Operations may have started while no events were received.
                waiting += try ids { !seen.contains($0.id) }
            }
            for index in readable where index >= progress.descriptors.count {
                let (id, source) = sources[index - progress.descriptors.count]
                try source.read(session, writer)
                guard !source.feed.isOpen else { continue }
                active[id] = nil
                countIfDenied(source)
            }
            try session.output.flush()
        }
    }
}

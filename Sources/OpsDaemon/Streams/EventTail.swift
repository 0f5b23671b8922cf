internal import OpsCore
internal import OpsWire

/// Consecutive events, encoded as the messages that watchers get.
struct EventBlock {
    let reports: [Report]
    /// All their messages, one after the other.
    let bytes: [UInt8]
    /// Offset in `bytes` of the end of each message.
    let ends: [Int]

    init?(_ reports: [Report]) {
        guard !reports.isEmpty else { return nil }
        var writer = JSONWriter(capacity: reports.count * 256)
        let translation = EventTranslation()
        self.reports = reports
        ends = reports.map { report in
            Reply.append(WatchReply.with { $0.event = translation.row(report) }, continues: true, to: &writer)
            return writer.bytes.count
        }
        bytes = writer.bytes
    }

    fileprivate init(_ reports: ArraySlice<Report>, _ bytes: ArraySlice<UInt8>, _ ends: [Int]) {
        self.reports = Array(reports)
        self.bytes = Array(bytes)
        self.ends = ends
    }

    var first: Int64 { reports[0].sequence }
    var last: Int64 { reports[reports.count - 1].sequence }

    /// Returns the messages of the events that are admitted.
    func bytes(where admits: (Report) -> Bool) -> [UInt8] {
        var chosen: [UInt8] = []
        var start = 0
        for (report, end) in zip(reports, ends) {
            if admits(report) { chosen += bytes[start..<end] }
            start = end
        }
        return chosen
    }
}

/// The newest events. Each is encoded once, however many watchers read it.
struct EventTail {
    private var reports: [Report] = []
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    /// Sequence number of the newest event; nil if none is kept.
    var last: Int64? { reports.last?.sequence }

    /// Returns true if all events after this one are here.
    func reaches(_ sequence: Int64) -> Bool {
        guard let first = reports.first else { return false }
        return sequence >= first.sequence - 1
    }

    mutating func append(_ more: [Report]) {
        // Events of a larger commit are read from the store, a little at a time.
        guard more.count <= DaemonLimits.largestKeptCommit else { return removeAll() }
        guard let block = EventBlock(more) else { return }
        if let last, block.first != last + 1 { removeAll() }
        ends += block.ends.map { $0 + bytes.count }
        bytes += block.bytes
        reports += block.reports
        if bytes.count > DaemonLimits.eventBytesKept { dropOlderHalf() }
    }

    mutating func removeAll() { self = EventTail() }

    private mutating func dropOlderHalf() {
        let dropped = (ends.firstIndex { $0 >= bytes.count / 2 } ?? 0) + 1
        let start = ends[dropped - 1]
        bytes.removeSubrange(..<start)
        reports.removeSubrange(..<dropped)
        ends = ends[dropped...].map { $0 - start }
    }

    /// Returns the events after one that this tail reaches, as many as one reader gets at a time.
    func block(after sequence: Int64) -> EventBlock? {
        guard let first = reports.first, let last, sequence < last else { return nil }
        let lower = Int(sequence + 1 - first.sequence)
        let start = lower == 0 ? 0 : ends[lower - 1]
        var upper = lower + 1
        while upper < reports.count, upper - lower < DaemonLimits.eventsInABatch,
            ends[upper] - start <= DaemonLimits.eventBytesInABatch
        {
            upper += 1
        }
        return EventBlock(
            reports[lower..<upper], bytes[start..<ends[upper - 1]], ends[lower..<upper].map { $0 - start })
    }
}

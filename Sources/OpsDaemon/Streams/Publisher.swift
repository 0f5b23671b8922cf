internal import OpsCore
internal import OpsWire

/// Someone who wants to hear what every commit brought.
protocol Follower: AnyObject {
    func take(_ news: News)
}

/// The reports of one commit, and each one's message, made once however many read it.
final class News {
    let reports: [Report]
    private var frames: [[UInt8]?]
    private let translation: EventTranslation

    init(_ reports: [Report], _ translation: EventTranslation) {
        self.reports = reports
        self.translation = translation
        frames = Array(repeating: nil, count: reports.count)
    }

    /// The `Watch` reply for the report at this place.
    func frame(_ place: Int) -> [UInt8] {
        if let frame = frames[place] { return frame }
        let frame = Reply.frame(WatchReply.with { $0.event = translation.row(reports[place]) }, continues: true)
        frames[place] = frame
        return frame
    }
}

/// Tells followers what became durable, in the order in which it did.
final class Publisher {
    private unowned let daemon: Daemon
    private var followers: [ObjectIdentifier: any Follower] = [:]
    private var order: [ObjectIdentifier] = []
    /// The last sequence number that followers were told.
    private(set) var lastSequence: Int64 = 0

    init(daemon: Daemon) { self.daemon = daemon }

    func add(_ follower: any Follower) {
        let id = ObjectIdentifier(follower)
        if followers.updateValue(follower, forKey: id) == nil { order.append(id) }
    }

    func remove(_ follower: any Follower) {
        let id = ObjectIdentifier(follower)
        if followers.removeValue(forKey: id) != nil { order.removeAll { $0 == id } }
    }

    func publish(_ reports: [Report]) {
        guard let last = reports.last else { return }
        lastSequence = last.sequence
        daemon.journal.write(reports)
        guard !order.isEmpty else { return }
        let news = News(reports, EventTranslation())
        // A copy: a follower may leave while it is told.
        for id in order { followers[id]?.take(news) }
    }
}

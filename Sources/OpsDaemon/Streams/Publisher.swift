internal import OpsCore

/// Someone who wants to hear at once what every commit brought.
protocol Follower: AnyObject {
    func take(_ reports: [Report])
}

/// Tells followers what became durable, in the order in which it did.
final class Publisher {
    private unowned let daemon: Daemon
    private var followers: [ObjectIdentifier: any Follower] = [:]
    private var order: [ObjectIdentifier] = []
    private(set) lazy var audience = Audience(daemon: daemon)

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
        guard !reports.isEmpty else { return }
        daemon.journal.write(reports)
        // A copy: a follower may leave while it is told.
        for id in order { followers[id]?.take(reports) }
        audience.publish(reports)
    }
}

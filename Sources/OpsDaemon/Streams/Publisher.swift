internal import OpsCore

/// Someone who wants to hear at once what every commit brought.
protocol Follower: AnyObject {
    func take(_ reports: [Report])
}

/// Tells followers what became durable, in the order in which it did.
final class Publisher {
    private unowned let daemon: Daemon
    /// By the number of each: they count up in the order in which they came.
    private var followers: [Int: any Follower] = [:]
    private var numbers: [ObjectIdentifier: Int] = [:]
    /// The number of whoever comes next.
    private(set) var nextNumber = 0
    private(set) lazy var audience = Audience(daemon: daemon)
    private let journal: JournalWriter

    init(daemon: Daemon) {
        self.daemon = daemon
        journal = JournalWriter(diary: daemon.diary, history: daemon.history)
    }

    func add(_ follower: any Follower) {
        followers[nextNumber] = follower
        numbers[ObjectIdentifier(follower)] = nextNumber
        nextNumber += 1
    }

    func remove(_ follower: any Follower) {
        if let number = numbers.removeValue(forKey: ObjectIdentifier(follower)) { followers[number] = nil }
    }

    /// Tells those with a number below `newcomer`. Whoever came with the answers of this commit has read what it brought.
    func publish(_ reports: [Report], before newcomer: Int) {
        guard !reports.isEmpty else { return }
        journal.write(reports)
        // A copy: a follower may leave while it is told.
        for number in followers.keys.sorted() where number < newcomer { followers[number]?.take(reports) }
        audience.publish(reports)
    }
}

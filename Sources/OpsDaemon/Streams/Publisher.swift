internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// A receiver of the reports of every commit.
protocol Follower: AnyObject {
    func receive(_ reports: [Report])
}

/// Passes the reports of each commit to followers, in order. Many reports, or reports for many followers, are spread
/// over several turns.
final class Publisher {
    private let loop: EventLoop
    /// Followers by their numbers, which increase in the order in which they were added.
    private var followers: [Int: any Follower] = [:]
    private var numbers: [ObjectIdentifier: Int] = [:]
    /// Number of the next follower.
    private(set) var nextNumber = 0
    let audience: Audience
    private let journal: JournalWriter
    /// Reports that no follower has received, in portions of a commit.
    private var waiting = Backlog<Portion>()
    /// The portion that some followers have received, and the followers that have not.
    private var current: (reports: [Report], followers: Backlog<Int>)?
    private lazy var work = DeferredWork(loop) { [unowned self] in
        self.inform(until: Clock.read().monotonic + self.inATurn)
    }
    /// Time of a turn in which followers are informed.
    private let inATurn: TimeSpan

    private struct Portion {
        let reports: ArraySlice<Report>
        /// Followers from this number on know the reports already.
        let firstNewFollower: Int
    }

    private static let reportsInAPortion = 256
    /// Number of waiting portions above which the loop waits for the followers: events must not be made faster than
    /// they are published.
    private static let mostWaiting = 10_000

    init(loop: EventLoop, log: DaemonLog, history: History, inATurn: TimeSpan = DaemonLimits.streaming) {
        self.loop = loop
        audience = Audience(history: history)
        self.inATurn = inATurn
        journal = JournalWriter(log: log, history: history)
    }

    func add(_ follower: any Follower) {
        followers[nextNumber] = follower
        numbers[ObjectIdentifier(follower)] = nextNumber
        nextNumber += 1
    }

    func remove(_ follower: any Follower) {
        if let number = numbers.removeValue(forKey: ObjectIdentifier(follower)) { followers[number] = nil }
    }

    /// Publishes reports to followers with a number below `firstNewFollower`. Followers that the answers of this commit
    /// have added know the reports already.
    func publish(_ reports: [Report], before firstNewFollower: Int) {
        guard !reports.isEmpty else { return }
        let isBusy = current != nil || !waiting.isEmpty
        for start in stride(from: 0, to: reports.count, by: Self.reportsInAPortion) {
            let end = min(start + Self.reportsInAPortion, reports.count)
            waiting.append(Portion(reports: reports[start..<end], firstNewFollower: firstNewFollower))
        }
        // Earlier events are published first, in their order.
        if !isBusy || waiting.count > Self.mostWaiting { inform(until: Clock.read().monotonic + inATurn) }
        audience.publish(reports)
    }

    /// Publishes all waiting reports, however long that takes.
    func finish() { inform(until: .distantFuture) }

    private func inform(until end: MonotonicInstant) {
        while let number = nextFollower() {
            if let reports = current?.reports { followers[number]?.receive(reports) }
            if Clock.read().monotonic >= end, waiting.count <= Self.mostWaiting { return work.schedule() }
        }
    }

    /// Returns the next follower to update; when all have been updated, continues with the next portion.
    private func nextFollower() -> Int? {
        while true {
            if let number = current?.followers.removeFirst() { return number }
            guard let portion = waiting.removeFirst() else {
                current = nil
                return nil
            }
            let reports = Array(portion.reports)
            journal.write(reports)
            // A copy, since a follower may be removed meanwhile.
            current = (reports, Backlog(followers.keys.sorted().filter { $0 < portion.firstNewFollower }))
        }
    }
}

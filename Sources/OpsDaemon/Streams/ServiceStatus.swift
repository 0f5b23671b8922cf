internal import OpsCore
internal import OpsSystem

/// Tells the service manager how things stand, after changes and at most once a second: `systemctl status opsd`.
final class ServiceStatus: Follower {
    private unowned let daemon: Daemon
    private lazy var alarm = Alarm(daemon, accuracy: 100_000) { [unowned self] in self.tell() }
    private var told = ""
    private var nextAt: Int64 = 0

    private static let interval: Int64 = 1_000_000_000

    init(daemon: Daemon) { self.daemon = daemon }

    /// True if there is a service manager that wants messages.
    static var isWanted: Bool { Environment["NOTIFY_SOCKET"] != nil }

    func take(_ reports: [Report]) { tell() }

    private func tell() {
        let text = daemon.statusText
        guard text != told else { return }
        let now = Clock.read().monotonic
        guard now >= nextAt else {
            alarm.set(at: nextAt)
            return
        }
        nextAt = now + Self.interval
        told = text
        daemon.notifyStatus()
    }
}

internal import OpsCore
internal import OpsSystem
internal import OpsSystemd

/// Reports the status of opsd to the service manager, after changes and at most once a second: `systemctl status opsd`.
final class ServiceStatus: Follower {
    private let loop: EventLoop
    private let log: DaemonLog
    private let text: () -> String
    private let notify: () -> Void
    private lazy var alarm = Alarm(loop, log, accuracy: 100_000) { [unowned self] in self.update() }
    private var lastText = ""
    private var nextAt = MonotonicInstant.zero

    private static let interval = TimeSpan.seconds(1)

    /// `text`: returns the present status.
    init(loop: EventLoop, log: DaemonLog, text: @escaping () -> String, notify: @escaping () -> Void) {
        self.loop = loop
        self.log = log
        self.text = text
        self.notify = notify
    }

    /// True if there is a service manager that wants messages.
    static var isWanted: Bool { Environment["NOTIFY_SOCKET"] != nil }

    func receive(_ reports: [Report]) { update() }

    private func update() {
        let text = self.text()
        guard text != lastText else { return }
        let now = Clock.read().monotonic
        guard now >= nextAt else {
            alarm.set(at: nextAt)
            return
        }
        nextAt = now + Self.interval
        lastText = text
        notify()
    }
}

internal import OpsCore
internal import OpsLinux

/// Tells the service manager how things stand, after changes and at most once a second: `systemctl status opsd`.
final class ServiceStatus: Follower {
    private unowned let daemon: Daemon
    private var timer: TimerSource?
    private var told = ""
    private var nextAt: Int64 = 0

    private static let interval: Int64 = 1_000_000_000

    init(daemon: Daemon) { self.daemon = daemon }

    /// Whether there is a service manager that wants to hear.
    static var isWanted: Bool { Environment["NOTIFY_SOCKET"] != nil }

    func take(_ reports: [Report]) { tell() }

    private func tell() {
        let text = daemon.statusText
        guard text != told else { return }
        let now = Clock.read().monotonic
        guard now >= nextAt else { return tellLater() }
        nextAt = now + Self.interval
        told = text
        daemon.notifyStatus()
    }

    private func tellLater() {
        do throws(SystemError) {
            if timer == nil {
                timer = try daemon.loop.timer(.monotonic, accuracy: 100_000) { [unowned self] in self.tell() }
            }
            try timer?.arm(at: nextAt)
        } catch {
            daemon.diary.error("cannot set a timer: \(error)")
        }
    }
}

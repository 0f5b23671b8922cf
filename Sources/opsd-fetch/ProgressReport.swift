internal import OpsSystem
internal import OpsTransfer

/// Progress for opsd or the service manager (`NOTIFY_SOCKET`), or for a person at a terminal.
final class ProgressReport {
    private let manager = NotifyClient.fromEnvironment()
    private let isOnTerminal = Terminal.isTerminal(2)
    /// True if the cursor is at the end of a progress line.
    private var hasLine = false
    private var lastReport = MonotonicInstant.zero
    private var lastDone: Int64 = -1

    /// Milliseconds between two reports.
    static let interval: Int32 = 1000

    /// Reports at most once in an interval, and only a change.
    func update(_ progress: (done: Int64, total: Int64?)) {
        let now = Clock.read().monotonic
        guard now - lastReport >= .milliseconds(Int64(Self.interval)), progress.done != lastDone else { return }
        lastReport = now
        lastDone = progress.done
        send(progress)
    }

    /// Reports the end of a transfer that succeeded.
    func finish(_ progress: (done: Int64, total: Int64?)) {
        send((progress.done, progress.done))
        endLine()
    }

    private func send(_ progress: (done: Int64, total: Int64?)) {
        manager?.send("X_OPS_PROGRESS=\(progress.done)" + (progress.total.map { "/\($0)" } ?? ""))
        guard isOnTerminal else { return }
        let share = progress.total.map { $0 > 0 ? " of \($0), \(progress.done * 100 / $0) %" : "" } ?? ""
        write("\r\(progress.done) bytes\(share)\u{1B}[K")
        hasLine = true
    }

    /// Prints a message to the user below the progress line.
    func say(_ text: String) {
        endLine()
        Program.writeError("opsd-fetch: \(text)")
    }

    /// Reports a status text of the operation.
    func status(_ text: String) { manager?.send("STATUS=\(text)") }

    private func endLine() {
        if hasLine { write("\n") }
        hasLine = false
    }

    private func write(_ text: String) {
        do throws(SystemError) {
            _ = try Descriptor.duplicate(of: 2).writeAll(Array(text.utf8))
        } catch {
            // A terminal that is gone has nobody before it.
            hasLine = false
        }
    }
}

internal import OpsSystem
internal import OpsSystemd

/// Wakes the loop when a control group may have become empty.
final class GroupWatch {
    private let events: Descriptor
    private var source: ReadinessSource?

    /// Calls `changed` after each change. `isLost`: the watch has failed and reports nothing more.
    init(
        _ group: ControlGroup, in loop: EventLoop, _ changed: @escaping (_ isLost: Bool) -> Void
    ) throws(SystemError) {
        events = try group.openEvents()
        source = try loop.watch(events.rawValue, for: .changed) { [unowned self] _ in
            do throws(SystemError) {
                try ControlGroup.acknowledge(events)
            } catch {
                // The kernel reports a change that was not read again and again.
                Program.writeError("opsd-runner: \(error)")
                source?.cancel()
                return changed(true)
            }
            changed(false)
        }
    }

    /// Takes the descriptor out of the loop while it is open.
    deinit { source?.cancel() }
}

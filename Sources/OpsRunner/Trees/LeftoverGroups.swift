internal import OpsSystem
internal import OpsSystemd

/// Control groups of ended attempts in which processes are left, by `leftovers: leave` or by `cancel --force`. Each is
/// removed once it is empty.
final class LeftoverGroups {
    private var watch: FileWatch?
    private var watched: [ControlGroup: FileWatch.Token] = [:]
    /// Groups that could not be watched.
    private var unwatched: Set<ControlGroup> = []
    /// Instant at which unwatched groups are tried again; `nil`: there are none.
    private(set) var dueAt: MonotonicInstant?

    private let loop: EventLoop
    private static let pause = TimeSpan.seconds(1)

    init(in loop: EventLoop) { self.loop = loop }

    var all: [ControlGroup] { Array(watched.keys) + Array(unwatched) }

    /// Follows a group until it is removed, or until its removal fails with an error.
    func add(_ group: ControlGroup, now: MonotonicInstant) throws(SystemError) {
        do throws(SystemError) {
            try startWatching(group)
        } catch {
            unwatched.insert(group)
            dueAt = dueAt ?? now + LeftoverGroups.pause
        }
        // Processes that ended before the watch began cause no event.
        try removeIfEmpty(group)
    }

    private func startWatching(_ group: ControlGroup) throws(SystemError) {
        let watch: FileWatch
        if let first = self.watch { watch = first } else { watch = try FileWatch(loop) }
        self.watch = watch
        watched[group] = try watch.watch(group.eventsPath) { [unowned self] in
            do throws(SystemError) {
                try removeIfEmpty(group)
            } catch {
                Program.writeError("opsd-runner: \(error)")
            }
        }
    }

    /// Tries once a second to watch the groups that could not be watched.
    func retry(now: MonotonicInstant) throws(SystemError) {
        guard let due = dueAt, due <= now else { return }
        let groups = unwatched
        unwatched = []
        dueAt = nil
        for group in groups { try add(group, now: now) }
    }

    private func removeIfEmpty(_ group: ControlGroup) throws(SystemError) {
        var isOver = true
        defer { if isOver { forget(group) } }
        isOver = try group.remove()
    }

    private func forget(_ group: ControlGroup) {
        unwatched.remove(group)
        if unwatched.isEmpty { dueAt = nil }
        if let token = watched.removeValue(forKey: group) { watch?.cancel(token) }
    }
}

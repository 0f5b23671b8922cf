internal import OpsCore
internal import OpsExecutor

extension Inventory {
    /// Leaves out helpers, which are attempts of no operation.
    init(_ greeting: ExecutorGreeting) {
        self.init(
            runner: greeting.instance, boot: greeting.boot, isEnding: greeting.isEnding,
            acceptsStaging: greeting.version >= LaunchProtocol.versionWithStaging,
            acceptsWaiting: greeting.stagesDependents)
        for started in greeting.slotStarts { slotStarts[started.attempt] = started.start }
        for entry in greeting.entries where !entry.attempt.isHelper { entries[entry.attempt] = entry.state }
    }
}

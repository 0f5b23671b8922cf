internal import OpsCore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Messages between opsd and the service manager or a terminal.
extension Daemon {
    func watchSignals() throws(SystemError) {
        signals = [
            try loop.watchSignal(Signals.terminate) { [unowned self] in self.stop(self.configuration.onStop) },
            try loop.watchSignal(Signals.interrupt) { [unowned self] in self.stop(.cancel) },
            try loop.watchSignal(Signals.hangUp) { [unowned self] in self.reload() },
        ]
    }

    /// Stops the daemon: at once, when nothing executes any more, or after everything was cancelled.
    func stop(_ mode: Configuration.OnStop) {
        notify("STOPPING=1\nSTATUS=Stopping")
        // A second signal does not wait.
        guard stopping == nil, mode != .keep else { return leave() }
        stopping = mode
        endWhatExecutes()
        let condition = turns.outage == nil ? "" : " after the disk accepts writes again; a second signal does not wait"
        let count = turns.core?.counts.executing ?? 0
        let operations = count == 1 ? "1 operation has ended" : "\(count) operations have ended"
        log.notice("stopping when \(operations)\(condition)")
    }

    var isDraining: Bool { stopping != nil }

    /// Drains or cancels executing operations when the daemon stops; repeated after an outage that has lost it, and
    /// after a long turn.
    func endWhatExecutes() {
        guard let stopping, turns.outage == nil else { return }
        turns.record(.setDraining(to: true))
        guard stopping == .cancel else { return }
        // A long turn may start operations that this scheduler does not know yet.
        if turns.putOff({ [unowned self] in endWhatExecutes() }) { return }
        let executing = (turns.core?.executing ?? []).map(\.id)
        turns.record(.cancel(executing, by: "opsd", reason: "opsd is stopping", force: false))
    }

    /// Ends a draining daemon at the end of a turn in which its last operation has ended. This holds during an outage
    /// too, if no operation executes according to the disk.
    func stopIfDrained() {
        if stopping != nil, turns.longTurn == nil, turns.core?.counts.executing == 0 { leave() }
    }

    private func leave() {
        if turns.outage == nil, turns.longTurn == nil, (turns.core?.stagedCount ?? 0) > 0 {
            turns.revokeStaged()
            turns.commitTurn()
        }
        if turns.core?.counts.executing == 0 { runner.stopOwn() }
        executors.stopOwn()
        publisher.finish()
        loop.stop()
    }

    private func reload() {
        do {
            try Service.notifyReloading()
            let (old, oldWorkers) = (configuration, configuration.workerCount)
            configuration = try Configuration.load(options)
            warnOfDelayedChanges(since: old)
            configuration.state = old.state
            configuration.socket = old.socket
            configuration.runner = old.runner
            configuration.group = old.group
            log.level = configuration.logLevel
            composer.logCap = configuration.logLimit
            retention.schedule()
            setRecorder()
            server?.setLimits(connectionLimits)
            if configuration.workerCount != oldWorkers { turns.record(.setWorkers(configuration.workerCount)) }
            turns.record(.setOperationsPerUser(configuration.operationsPerUser))
            turns.record(.setObserversOfAll(configuration.observersOfAll))
            turns.record(.setExecutors(configuration.executorSettings))
            executors.configure(configuration.executors)
            log.notice("configuration read again")
        } catch {
            log.error("configuration not changed: \(error)")
        }
        notify("READY=1\nSTATUS=\(statusText)")
    }

    private func warnOfDelayedChanges(since old: Configuration) {
        var names: [String] = []
        if configuration.state != old.state { names.append("state") }
        if configuration.runner != old.runner { names.append("runner") }
        // Socket and group are those of the service manager if it passed the socket on.
        if !isActivated, configuration.socket != old.socket { names.append("socket") }
        if !isActivated, configuration.group != old.group { names.append("group") }
        let list = names.joined(separator: ", ")
        if !list.isEmpty { log.warning("changes of \(list) take effect at the next start") }
    }

    // MARK: The service manager

    var statusText: String {
        if let outage = turns.outage { return "Storage unavailable: \(outage.error)" }
        guard let counts = turns.core?.counts else { return "The database cannot be read" }
        let row = CountsRow(counts)
        let apart = [(row.scheduled, "scheduled"), (row.held, "held")].filter { $0.0 > 0 }.map { ", \($0) \($1)" }
        return "\(row.executing) executing, \(row.ready) ready, \(row.pending) pending" + apart.joined()
    }

    func notifyStatus() { notify("STATUS=\(statusText)") }

    func notify(_ state: String) {
        do throws(SystemError) { try Service.notify(state) } catch { log.debug("\(error)") }
    }
}

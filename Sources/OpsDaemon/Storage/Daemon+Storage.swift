internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The time during which the disk takes nothing. Operations go on; nothing starts, nothing is acknowledged.
struct Outage {
    var error: StoreError
    /// Nanoseconds until the next attempt to write.
    var delay: Int64 = 100_000_000
    /// Events of the outage that will not be reported again.
    var facts: [Event] = []

    static let longestDelay: Int64 = 5_000_000_000
}

extension Daemon {
    var unavailable: ControlError {
        .storageUnavailable(outage.map { "\($0.error)" } ?? "the database cannot be read")
    }

    /// Handles a disk failure. The current turn has had no effect: drops all of it except the reports from outside.
    func fall(_ error: StoreError) {
        guard outage == nil, !putOff({ [unowned self] in self.fall(error) }) else { return }
        log.write(
            .error, "storage unavailable: \(error)",
            [(name: "MESSAGE_ID", value: JournalWriter.Message.storageUnavailable)])
        let turn = self.turn
        self.turn = Turn()
        outage = Outage(error: error, facts: turn.facts)
        finished.forget()
        notifyStatus()
        // The runner keeps exits until they are acknowledged, and tells them again on the next connection.
        conditions.stopAll()
        runner.flush()
        runner.disconnect()
        executors.disconnect()
        do throws(StoreError) { try restore() } catch { outage?.error = error }
        for answer in turn.afterwards { answer(false) }
        scheduleProbe()
    }

    /// Keeps a fact for the time after the outage.
    func keep(_ fact: Event) {
        guard fact.isToldOnce, (outage?.facts.count ?? 0) < DaemonLimits.keptFacts else { return }
        outage?.facts.append(fact)
    }

    /// The scheduler as the disk knows it; reads answer from that.
    private func restore() throws(StoreError) {
        // Gone before the next one is made: there is room for one.
        core = nil
        core = try storedCore()
        if isDraining { _ = core?.handle(.setDraining(true), at: .now()) }
    }

    /// A scheduler that knows what is stored.
    func storedCore() throws(StoreError) -> Scheduler {
        var snapshot = try store.load()
        snapshot.privilegedUsers = authorization.privilegedUsers
        snapshot.operationsPerUser = configuration.operationsPerUser
        snapshot.observersOfAll = configuration.observersOfAll
        snapshot.executors = configuration.executorSettings
        finished = FinishedCount(store.finishedWhenLoaded)
        if snapshot.operations.count > DaemonLimits.operationsInTheLoop { upkeep.muchWasFreed() }
        let configured = configuredWorkers
        // A user's choice stands until something else is configured.
        let chosen = snapshot.workers.flatMap { $0.insteadOf == configured ? $0.count : nil }
        return Scheduler(snapshot, workers: chosen ?? configured, at: .now())
    }

    private func scheduleProbe() {
        if let delay = outage?.delay { probeAlarm.set(after: delay) }
    }

    /// Tries whether the disk takes a write again.
    func probe() {
        guard let past = outage else { return }
        do throws(StoreError) {
            try store.probe()
            if core == nil { try restore() }
        } catch {
            outage?.error = error
            outage?.delay = min(past.delay * 2, Outage.longestDelay)
            return scheduleProbe()
        }
        outage = nil
        log.write(
            .notice, "storage available again", [(name: "MESSAGE_ID", value: JournalWriter.Message.storageAvailable)])
        for fact in past.facts { record(fact) }
        endWhatExecutes()
        runner.connect()
        executors.connect()
        notifyStatus()
        wakeUp()
    }
}

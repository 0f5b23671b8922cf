internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The time during which the disk cannot be written. Operations continue; nothing starts, and nothing is acknowledged.
struct Outage {
    var error: StoreError
    /// Time until the next attempt to write.
    var delay = TimeSpan.milliseconds(100)
    /// Events of the outage that will not be reported again.
    var facts: [Event] = []

    static let longestDelay = TimeSpan.seconds(5)
}

extension Turns {
    var unavailable: ControlError {
        .storageUnavailable(outage.map { "\($0.error)" } ?? "the database cannot be read")
    }

    /// Enters an outage after a failure of the disk. The present turn has had no effect: it is dropped, except for
    /// facts that are not reported again.
    func enterOutage(_ error: StoreError) {
        guard outage == nil, !putOff({ [unowned self] in self.enterOutage(error) }) else { return }
        log.write(
            .error, "storage unavailable: \(error)",
            [(name: "MESSAGE_ID", value: JournalWriter.Message.storageUnavailable)])
        let turn = self.turn
        self.turn = Turn()
        outage = Outage(error: error, facts: turn.facts)
        finished.forget()
        host.storageFailed()
        do throws(StoreError) { try restore() } catch { outage?.error = error }
        for answer in turn.afterwards { answer(false) }
        scheduleProbe()
    }

    /// Keeps a fact for the time after the outage.
    func keep(_ fact: Event) {
        guard fact.isReportedOnce, (outage?.facts.count ?? 0) < DaemonLimits.keptFacts else { return }
        outage?.facts.append(fact)
    }

    /// Replaces the scheduler by one with the stored state, from which reads are answered.
    func restore() throws(StoreError) {
        // Released before the next one is made: memory may suffice for only one.
        core = nil
        core = try storedCore()
    }

    /// Returns a scheduler with the stored state.
    func storedCore() throws(StoreError) -> Scheduler {
        let snapshot = try store.load()
        finished = FinishedCount(store.finishedWhenLoaded)
        return host.scheduler(of: snapshot)
    }

    private func scheduleProbe() {
        if let delay = outage?.delay { probeAlarm.set(after: delay) }
    }

    /// Tries if the disk can be written again.
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
        host.storageReturned()
        wakeUp()
    }
}

internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Performs the effects of a committed turn, one after the other. Each may be repeated.
final class EffectPerformer {
    /// Socket of opsd.
    private let socket: String
    private let turns: Turns
    private let store: Store
    private let composer: LaunchComposer
    private let runner: RunnerLink
    private let executors: ExecutorLinks
    private let conditions: ConditionEvaluator
    private let observers: ObserverRunner
    private let log: DaemonLog
    /// Thread that reads the results of very many dependencies.
    let reading: SideWork

    init(
        socket: String, turns: Turns, store: Store, composer: LaunchComposer, runner: RunnerLink,
        executors: ExecutorLinks, conditions: ConditionEvaluator, observers: ObserverRunner, loop: EventLoop,
        log: DaemonLog
    ) {
        self.socket = socket
        self.turns = turns
        self.store = store
        self.composer = composer
        self.runner = runner
        self.executors = executors
        self.conditions = conditions
        self.observers = observers
        self.log = log
        reading = SideWork(loop: loop, log: log)
    }

    func perform(_ effects: [Effect]) {
        readingAtOnce(effects.count) {
            // After a failure of the disk, the restored scheduler emits the remaining effects again.
            for effect in effects where turns.outage == nil { perform(effect) }
        }
        runner.flush()
        executors.flush()
    }

    /// Reads the data of many launches in one read transaction.
    private func readingAtOnce(_ count: Int, _ body: () -> Void) {
        guard count > 1 else { return body() }
        do throws(StoreError) {
            try store.beginReading()
        } catch {
            return turns.enterOutage(error)
        }
        body()
        store.endReading()
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .launch(let attempt, let slot): launch(attempt, slot)
        case .stage(let attempt, let after): stage(attempt, after)
        case .revokeStaged: runner.dropStaged()
        case .terminate(let attempt, let grace): runner.send(.terminate(attempt, grace: grace))
        case .freeze(let attempt): runner.send(.freeze(attempt))
        case .thaw(let attempt): runner.send(.thaw(attempt))
        case .reap(let attempt): reap(attempt)
        case .acknowledge(let attempt): runner.send(.acknowledge(attempt))
        case .external(let name, .submit(let attempt, let job, let priority)): submit(attempt, job, priority, to: name)
        case .external(let name, let effect):
            if case .terminate(let attempt, _) = effect { launchForgotten(attempt, on: name) }
            executors.perform(effect, on: name)
        // Emitted within `external`.
        case .submit, .release: break
        case .evaluate(let operation, let token): conditions.evaluate(operation, token: token)
        case .stopEvaluating(let operation): conditions.stop(operation)
        case .observeStart(let operation): observers.observe(.start, of: operation)
        case .observeProduce(let operation, let product):
            observers.observe(.produce(product), of: operation)
        case .observeFinish(let operation, let run): observers.observe(.finish(run: run), of: operation)
        }
    }

    private func launch(_ attempt: AttemptID, _ slot: Int32) {
        // Without a runner the launch is repeated when one has connected.
        guard runner.isConnected else { return }
        launch(attempt, slot) { try $0.composed(attempt, slot) }
    }

    private func launch(
        _ attempt: AttemptID, _ slot: Int32, _ compose: (EffectPerformer) throws -> LaunchRequest
    ) {
        do {
            try runner.send(launch: try compose(self))
        } catch let error as StoreError where error.kind == .interrupted {
            readResults(of: attempt) { [unowned self] results in self.launch(attempt, slot, given: results) }
        } catch let error as StoreError {
            turns.enterOutage(error)
        } catch let error as SystemError {
            // The directory of its log or its user is missing: the operation cannot start, and its cause says why.
            cannotStart(attempt, error)
        } catch {
            cannotStart(attempt, SystemError("\(error)", errno: SystemError.invalid))
        }
    }

    private func launch(_ attempt: AttemptID, _ slot: Int32, given results: Result<ResultsOfDependencies, any Error>) {
        if turns.putOff({ [unowned self] in self.launch(attempt, slot, given: results) }) { return }
        // If the runner or the scheduler has been replaced meanwhile, the launch is repeated.
        guard turns.outage == nil, runner.isConnected, turns.ask({ $0.isExecuting(attempt) }) == true else { return }
        guard turns.ask({ $0.isCancelling(attempt.operation) }) != true else {
            return turns.record(.launchFailed(attempt, step: "cancelled", errno: SystemError.invalid))
        }
        launch(attempt, slot) { try $0.composed(attempt, slot, given: results.get()) }
        runner.flush()
    }

    /// Reads the results of very many dependencies of an operation outside the loop.
    private func readResults(
        of attempt: AttemptID, then launch: @escaping (Result<ResultsOfDependencies, any Error>) -> Void
    ) {
        let texts: LaunchTexts?
        do throws(StoreError) { texts = try store.texts(of: attempt.operation) } catch {
            return turns.enterOutage(error)
        }
        guard let texts else { return }
        let (path, reader) = (store.path, composer.reader(texts))
        reading.run(
            {
                Result {
                    try History.open(path: path).results(
                        for: attempt.operation, of: reader, atMost: DaemonLimits.launchBytes)
                }
            }, then: launch)
    }

    /// Stages a launch. One that cannot be composed is not staged, nor is any after it: it fails when it is launched.
    private func stage(_ attempt: AttemptID, _ after: [AttemptID]) {
        guard runner.isConnected, turns.ask({ $0.isStaged(attempt) }) == true else { return }
        do {
            try runner.stage(try composed(attempt, -1), after: after)
        } catch let error as StoreError where error.kind != .interrupted {
            turns.enterOutage(error)
        } catch {
            turns.revokeStaged()
        }
    }

    private func reap(_ attempt: AttemptID) {
        var uid: UInt32?
        do {
            uid = try store.texts(of: attempt.operation).map { try composer.uid($0) }
        } catch let error as StoreError {
            return turns.enterOutage(error)
        } catch {
            log.warning("operation \(attempt.operation.rawValue): \(error)")
        }
        runner.send(.killStaleTree(attempt, socket: socket, uid: uid))
    }

    /// Sends an attempt to an executor; a disconnected one gets it after its next greeting.
    private func submit(_ attempt: AttemptID, _ job: String?, _ priority: Int8, to name: String) {
        guard executors.isConnected(name) else { return }
        submit(attempt, job, priority, to: name) { try $0.composed(attempt, -1) }
    }

    private func submit(
        _ attempt: AttemptID, _ job: String?, _ priority: Int8, to name: String,
        _ compose: (EffectPerformer) throws -> LaunchRequest
    ) {
        do {
            var request = try compose(self)
            request.job = job ?? ""
            request.niceness = Int32(Int8.max) - Int32(priority)
            try executors.send(request, to: name)
        } catch let error as StoreError where error.kind == .interrupted {
            readResults(of: attempt) { [unowned self] results in
                self.submit(attempt, job, priority, to: name, given: results)
            }
        } catch let error as StoreError {
            turns.enterOutage(error)
        } catch {
            let error = error as? SystemError ?? SystemError("\(error)", errno: SystemError.invalid)
            // The job goes on without the new priority that this submission passes on, and may run already.
            if turns.ask({ $0.hasJob(attempt) }) == true {
                return log.warning("operation \(attempt.operation.rawValue) is not submitted again: \(error)")
            }
            log.warning("operation \(attempt.operation.rawValue) cannot start: \(error)")
            turns.record(.external(name, .launchFailed(attempt, step: error.call, errno: error.errno)))
        }
    }

    private func submit(
        _ attempt: AttemptID, _ job: String?, _ priority: Int8, to name: String,
        given results: Result<ResultsOfDependencies, any Error>
    ) {
        if turns.putOff({ [unowned self] in self.submit(attempt, job, priority, to: name, given: results) }) { return }
        // The submission is repeated after the next greeting. A cancellation was sent to the executor, which reports an
        // unknown attempt as gone.
        guard turns.outage == nil, executors.isConnected(name),
            turns.ask({ $0.isExecuting(attempt) && !$0.isCancelling(attempt.operation) }) == true
        else { return }
        submit(attempt, job, priority, to: name) { try $0.composed(attempt, -1, given: results.get()) }
        executors.flush()
    }

    /// Launches an attempt that is about to be cancelled, if its executor forgets all attempts when its process is
    /// killed: the next process must know what to clean up. Launching an attempt that it knows has no effect.
    private func launchForgotten(_ attempt: AttemptID, on name: String) {
        guard executors.forgetsAttempts(name), turns.core?.isCancelled(attempt) == true else { return }
        submit(attempt, nil, 0, to: name)
    }

    private func composed(
        _ attempt: AttemptID, _ slot: Int32, given results: ResultsOfDependencies? = nil
    ) throws -> LaunchRequest {
        guard let texts = try store.texts(of: attempt.operation) else {
            throw SystemError("read what to start", errno: SystemError.noSuchFile)
        }
        let policy = turns.ask({ $0.policy(of: attempt.operation) }) ?? Policy()
        return try composer.launch(
            attempt, slot: slot, policy, texts, namesSlot: slot >= 0 && !runner.acceptsStaging,
            given: results, units: turns.ask { $0.unitVariables(of: attempt.operation) } ?? [],
            attemptInRun: turns.ask { $0.attemptInRun(of: attempt.operation) } ?? 1,
            mostOpenFiles: Int64(clamping: runner.rights?.mostOpenFiles ?? .max))
    }

    private func cannotStart(_ attempt: AttemptID, _ error: SystemError) {
        log.warning("operation \(attempt.operation.rawValue) cannot start: \(error)")
        turns.revokeStaged()
        turns.record(.launchFailed(attempt, step: error.call, errno: error.errno))
    }
}

internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsSystem

/// Performs the effects of a committed turn, one after the other. All of them may be repeated.
final class EffectPerformer {
    private unowned let daemon: Daemon
    private var composer: LaunchComposer
    /// Thread that reads the results of very many dependencies.
    private lazy var reading = SideWork(loop: daemon.loop, log: daemon.log)

    init(daemon: Daemon) {
        self.daemon = daemon
        composer = LaunchComposer(
            socket: daemon.configuration.socket, logs: daemon.logs, logCap: daemon.configuration.logLimit,
            store: daemon.store, authorization: daemon.authorization)
    }

    func setLogCap(_ bytes: Int64) { composer.logCap = bytes }

    func perform(_ effects: [Effect]) {
        readingAtOnce(effects.count) {
            // Once the disk has failed, what is left is ordered again by the rules as the disk knows them.
            for effect in effects where daemon.outage == nil { perform(effect) }
        }
        daemon.runner.flush()
        daemon.executors.flush()
    }

    /// Reads the data of many launches in one read transaction.
    private func readingAtOnce(_ count: Int, _ body: () -> Void) {
        guard count > 1 else { return body() }
        do throws(StoreError) {
            try daemon.store.beginReading()
        } catch {
            return daemon.fall(error)
        }
        body()
        daemon.store.endReading()
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .launch(let attempt, let slot): launch(attempt, slot)
        case .stage(let attempt, let after): stage(attempt, after)
        case .revokeStaged: daemon.runner.recall()
        case .terminate(let attempt, let grace): daemon.runner.send(.terminate(Attempt(attempt), grace: grace))
        case .freeze(let attempt): daemon.runner.send(.freeze(Attempt(attempt)))
        case .thaw(let attempt): daemon.runner.send(.thaw(Attempt(attempt)))
        case .reap(let attempt): reap(attempt)
        case .acknowledge(let attempt): daemon.runner.send(.acknowledge(Attempt(attempt)))
        case .external(let name, .submit(let attempt, let job, let priority)): submit(attempt, job, priority, to: name)
        case .external(let name, let effect): daemon.executors.perform(effect, on: name)
        // Emitted within `external`.
        case .submit, .release: break
        case .evaluate(let operation, let token): daemon.conditions.evaluate(operation, token: token)
        case .stopEvaluating(let operation): daemon.conditions.stop(operation)
        case .observeStart(let operation): daemon.observers.observe(.start, of: operation)
        case .observeProduce(let operation, let product):
            daemon.observers.observe(.produce(product), of: operation)
        case .observeFinish(let operation, let run): daemon.observers.observe(.finish(run: run), of: operation)
        }
    }

    private func launch(_ attempt: AttemptID, _ slot: Int32) {
        // Without a runner the order is given again when one has connected.
        guard daemon.runner.isConnected else { return }
        launch(attempt, slot) { try $0.composed(attempt, slot) }
    }

    private func launch(
        _ attempt: AttemptID, _ slot: Int32, _ compose: (EffectPerformer) throws -> LaunchRequest
    ) {
        do {
            try daemon.runner.send(launch: try compose(self))
        } catch let error as StoreError where error.kind == .interrupted {
            launchAfterReading(attempt, slot)
        } catch let error as StoreError {
            daemon.fall(error)
        } catch let error as SystemError {
            // The directory of its log, or its user: the operation cannot start, and says why.
            cannotStart(attempt, error)
        } catch {
            cannotStart(attempt, SystemError("\(error)", errno: SystemError.invalid))
        }
    }

    private func launchAfterReading(_ attempt: AttemptID, _ slot: Int32) {
        readResults(of: attempt) { [unowned self] results in
            // It is launched once more where there is another runner or scheduler by now.
            guard self.daemon.outage == nil, self.daemon.runner.isConnected,
                self.daemon.ask({ $0.isExecuting(attempt) }) == true
            else { return }
            guard self.daemon.ask({ $0.isCancelling(attempt.operation) }) != true else {
                return self.daemon.record(
                    .launchFailed(attempt, step: "cancelled", errno: SystemError.invalid))
            }
            self.launch(attempt, slot) { try $0.composed(attempt, slot, given: results.get()) }
            self.daemon.runner.flush()
        }
    }

    /// Reads the results of very many dependencies of an operation outside the loop.
    private func readResults(
        of attempt: AttemptID, then launch: @escaping (Result<ResultsOfDependencies, any Error>) -> Void
    ) {
        let texts: LaunchTexts?
        do throws(StoreError) { texts = try daemon.store.texts(of: attempt.operation) } catch {
            return daemon.fall(error)
        }
        guard let texts else { return }
        let (path, reader) = (daemon.store.path, composer.reader(texts))
        reading.run(
            {
                Result {
                    try History.open(path: path).results(
                        for: attempt.operation, of: reader, atMost: DaemonLimits.launchBytes)
                }
            }, then: launch)
    }

    /// A launch that cannot be composed is not staged, nor is any after it: it fails when its turn comes.
    private func stage(_ attempt: AttemptID, _ after: [AttemptID]) {
        guard daemon.runner.isConnected, daemon.ask({ $0.isStaged(attempt) }) == true else { return }
        do {
            try daemon.runner.stage(try composed(attempt, -1), after: after)
        } catch let error as StoreError where error.kind != .interrupted {
            daemon.fall(error)
        } catch {
            daemon.revokeStaged()
        }
    }

    private func reap(_ attempt: AttemptID) {
        var uid: UInt32?
        do {
            uid = try daemon.store.texts(of: attempt.operation).map { try composer.uid($0) }
        } catch let error as StoreError {
            return daemon.fall(error)
        } catch {
            daemon.log.warning("operation \(attempt.operation.rawValue): \(error)")
        }
        daemon.runner.send(.killStaleTree(Attempt(attempt), socket: daemon.configuration.socket, uid: uid))
    }

    /// Sends an attempt to an executor; a disconnected one gets it after its next greeting.
    private func submit(_ attempt: AttemptID, _ job: String?, _ priority: Int8, to name: String) {
        guard daemon.executors.isConnected(name) else { return }
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
            try daemon.executors.send(request, to: name)
        } catch let error as StoreError where error.kind == .interrupted {
            readResults(of: attempt) { [unowned self] results in
                // It is submitted once more after the next greeting. The executor has been told of a cancellation, and
                // reports an attempt that it does not know as gone.
                guard self.daemon.outage == nil, self.daemon.executors.isConnected(name),
                    self.daemon.ask({ $0.isExecuting(attempt) && !$0.isCancelling(attempt.operation) }) == true
                else { return }
                self.submit(attempt, job, priority, to: name) { try $0.composed(attempt, -1, given: results.get()) }
                self.daemon.executors.flush()
            }
        } catch let error as StoreError {
            daemon.fall(error)
        } catch {
            let error = error as? SystemError ?? SystemError("\(error)", errno: SystemError.invalid)
            daemon.log.warning("operation \(attempt.operation.rawValue) cannot start: \(error)")
            daemon.record(.external(name, .launchFailed(attempt, step: error.call, errno: error.errno)))
        }
    }

    private func composed(
        _ attempt: AttemptID, _ slot: Int32, given results: ResultsOfDependencies? = nil
    ) throws -> LaunchRequest {
        guard let texts = try daemon.store.texts(of: attempt.operation) else {
            throw SystemError("read what to start", errno: SystemError.noSuchFile)
        }
        let policy = daemon.ask({ $0.policy(of: attempt.operation) }) ?? Policy()
        return try composer.launch(
            attempt, slot: slot, policy, texts, namesSlot: slot >= 0 && !daemon.runner.acceptsStaging,
            given: results, units: daemon.ask { $0.unitVariables(of: attempt.operation) } ?? [],
            attemptInRun: daemon.ask { $0.attemptInRun(of: attempt.operation) } ?? 1,
            mostOpenFiles: Int64(clamping: daemon.runner.rights?.mostOpenFiles ?? .max))
    }

    private func cannotStart(_ attempt: AttemptID, _ error: SystemError) {
        daemon.log.warning("operation \(attempt.operation.rawValue) cannot start: \(error)")
        daemon.revokeStaged()
        daemon.record(.launchFailed(attempt, step: error.call, errno: error.errno))
    }

    /// Returns a helper process of an operation, started in the same way as the operation itself. `asSubmitter`: as the
    /// user who submitted it, in the directory of the submission, without the operation's own keys.
    func helper(
        of operation: OperationID, _ arguments: [String], adding environment: [String] = [], asSubmitter: Bool = false
    ) throws -> LaunchRequest? {
        guard var texts = try daemon.history.texts(of: operation) else { return nil }
        if asSubmitter { texts.details = try Details(texts.details).captureAlone }
        let attempt = AttemptID(operation, try daemon.history.brief(of: operation)?.attempt ?? 0)
        return try composer.helper(of: attempt, arguments, adding: environment, texts)
    }
}

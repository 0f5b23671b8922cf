internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSystem
internal import OpsSystemd
internal import OpsTransfer

/// The conversation with opsd.
extension TransferExecutor {
    func perform(_ command: ExecutorCommand) {
        switch command {
        case .hello(let version): greet(version)
        case .launch(let request): launch(request)
        case .terminate(let attempt, _, let isCancelled): terminate(attempt, isCancelled: isCancelled)
        case .freeze(let attempt): table[attempt]?.setFrozen(true)
        case .thaw(let attempt): table[attempt]?.setFrozen(false)
        case .acknowledge(let attempt): forget(attempt)
        case .stop: stop()
        case .ping: report(.pong)
        // No process of an attempt can be left over, and none is staged.
        case .killStaleTree(let attempt, _, _): report(.gone(attempt))
        case .revokeStaged: report(.stagingRevoked)
        // A transfer has no process for a signal, and starts with its launch.
        case .signal, .release, .stage, .reexecute: break
        }
    }

    /// Reads the configuration again and answers with all known attempts.
    private func greet(_ version: UInt16) {
        readConfiguration()
        let known = table.values.sorted { $0.attempt < $1.attempt }
        server.greet(
            version, instance: instance,
            updates: known.filter { !$0.update.isEmpty }.map { ($0.attempt, $0.update) },
            entries: known.map { .init($0.attempt, $0.attemptState) })
    }

    /// Starts an attempt; reports the state of one that is known already.
    private func launch(_ request: LaunchRequest) {
        if let known = table[request.attempt] { return reportState(of: known) }
        let transfer: Transfer
        do throws(SystemError) {
            let rights = try users.rights(of: request.user, now: Clock.read().monotonic)
            transfer = try Transfer(request, rights: rights, on: engine) { [unowned self] in report($0) }
        } catch {
            return report(.failed(request.attempt, step: error.call, errno: error.errno))
        }
        table[request.attempt] = transfer
        transfer.launch()
    }

    private func reportState(of transfer: Transfer) {
        report(.launched(transfer.attempt, transfer.launched))
        if !transfer.update.isEmpty { report(.updated(transfer.attempt, transfer.update)) }
        if case .gone(let exit) = transfer.attemptState {
            report(.exited(transfer.attempt, exit, treeIsGone: true))
        }
    }

    /// Ends an attempt. An unknown one is reported as cancelled.
    private func terminate(_ attempt: AttemptID, isCancelled: Bool) {
        if let transfer = table[attempt] { return transfer.terminate(isCancelled: isCancelled) }
        let end = ExternalEnd(outcome: .cancelled, cause: "the transfer was not running", at: Clock.read())
        report(.ended(attempt, end))
    }

    /// Removes an attempt whose end is stored, or that opsd has given up.
    private func forget(_ attempt: AttemptID) {
        table.removeValue(forKey: attempt)?.close()
    }
}

/// Executions and runs of operations.
extension Registry {
    /// Returns the execution that a fact is about; nil when its attempt is over.
    func execution(of attempt: AttemptID) -> ExecutionIndex? {
        guard let operation = table.index(of: attempt.operation), let index = execution(of: operation) else {
            return nil
        }
        // Field by field: a copy of the whole would count references at every fact.
        guard attempt.number > 0, executions[index].attempt == attempt.number, !executions[index].isOver else {
            return nil
        }
        return index
    }

    @inline(__always) func attemptID(_ index: ExecutionIndex) -> AttemptID {
        AttemptID(table[executions[index].operation].operationID, executions[index].attempt)
    }

    /// Returns the resolution of an attempt whose main process has ended; nil while the attempt goes on.
    @inline(__always) func resolution(of index: ExecutionIndex, treeIsGone: Bool) -> Resolution? {
        executions[index].exit.flatMap { resolution(of: index, $0, treeIsGone: treeIsGone) }
    }

    func resolution(of index: ExecutionIndex, _ exit: ProcessExit, treeIsGone: Bool) -> Resolution? {
        let policy = table.policy(of: executions[index].operation).map { policies[$0] }
        let cause: Cause
        switch exit.status {
        case .code(let code):
            if !exit.outOfMemory, policy?.successCodes.contains(code) ?? (code == 0) {
                if policy?.completion == .notify { return nil }
                if policy?.leftovers == .wait, !treeIsGone { return nil }
                return Resolution(outcome: .succeeded, cause: .exitStatus(code))
            }
            cause = .exitStatus(code)
        case .signal(let signal): cause = .signal(signal)
        }
        if policy?.leftovers == .wait, policy?.completion != .notify, !treeIsGone { return nil }
        return Resolution(outcome: .failed, cause: exit.outOfMemory ? .outOfMemory : cause)
    }

    /// Returns the resolution of an attempt that has reported itself finished. 0 is a success whatever the policy says.
    func resolution(of index: ExecutionIndex, reported status: Int32) -> Resolution {
        let successCodes = policy(of: executions[index].operation)?.successCodes ?? []
        let hasSucceeded = status == 0 || successCodes.contains(status)
        return Resolution(outcome: hasSucceeded ? .succeeded : .failed, cause: .reported(status: status))
    }

    /// Returns whether an operation was resolved by its own end or by a report, and its other processes stay alive.
    func leavesProcesses(_ index: ExecutionIndex) -> Bool {
        guard let policy = policy(of: executions[index].operation), policy.completion == .notify else { return false }
        switch executions[index].resolution?.cause {
        case .exitStatus, .signal, .outOfMemory, .reported, .finishedBy: return policy.leftovers != .kill
        default: return false
        }
    }

    /// Returns whether the end of an operation, or of a group around it, is decided: nothing new starts below it.
    func isClosing(_ operation: OperationIndex) -> Bool {
        table.chain(from: operation).contains { next in
            if table[next].traits.contains(.finishPending) { return true }
            guard let execution = execution(of: next) else { return false }
            return executions[execution].isCancelling
        }
    }

    /// Returns whether nothing below an operation starts again: the finish of it or of a group around it is being
    /// recorded, or one of them was cancelled or timed out. A result that was reported ends nothing below, although the
    /// processes that are left are terminated.
    func preventsRetries(below operation: OperationIndex) -> Bool {
        table.chain(from: operation).contains { next in
            if table[next].traits.contains(.finishPending) { return true }
            guard let execution = execution(of: next) else { return false }
            return executions[execution].resolution?.endsChildren ?? false
        }
    }

    func isAssumed(_ operation: OperationIndex) -> Bool {
        assumedExecution(of: operation) != nil
    }

    func assumedExecution(of operation: OperationIndex) -> ExecutionIndex? {
        guard let index = execution(of: operation), executions[index].isAssumed else { return nil }
        return index
    }

    func holders(of category: CategoryIndex) -> [OperationID] {
        executions.indices.filter { index in
            executions[index].holding.contains { $0.category == category }
        }.map { table[executions[$0].operation].operationID }.sorted()
    }

    /// Removes and returns the run of an operation that is about to start.
    mutating func popRun(of operation: OperationIndex) -> Run {
        guard table[operation].traits.contains(.hasRun) else { return Run(number: 1, attempts: 0) }
        table[operation].traits.remove(.hasRun)
        return runs.removeValue(forKey: operation) ?? Run(number: 1, attempts: 0)
    }
}

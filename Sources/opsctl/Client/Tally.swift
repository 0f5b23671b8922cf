internal import OpsWire

/// Counts the ends of the operations of a `wait`.
struct Tally {
    private(set) var first: EndedRow?
    /// Ends without success by id, each with its position in the order of ends.
    private var unsuccessful: [Int64: (position: Int, end: EndedRow)] = [:]
    private var known: Set<Int64> = []
    private var count = 0

    /// Adds an end; returns false if it was known. If an operation is retried meanwhile, its new end replaces the
    /// earlier one.
    mutating func add(_ ended: EndedRow) -> Bool {
        let hasSucceeded = !ended.isUnsuccessful
        let isNew = known.insert(ended.id).inserted
        guard isNew || hasSucceeded == (unsuccessful[ended.id] != nil) else { return false }
        count += 1
        unsuccessful[ended.id] = hasSucceeded ? nil : (count, ended)
        if first == nil || first?.id == ended.id { first = ended }
        return true
    }

    func status(any: Bool, exitCode: Bool) -> ExitStatus {
        let firstUnsuccessful = unsuccessful.values.min { $0.position < $1.position }?.end
        let decisive = any ? first : firstUnsuccessful ?? first
        guard let decisive else { return .done }
        if exitCode { return .of(decisive) }
        return decisive.isUnsuccessful ? .unsuccessful : .done
    }
}

extension EndedRow {
    /// True if the end counts as a failure.
    var isUnsuccessful: Bool { outcome != .succeeded && !notNeeded }

    /// Status that a shell gives for a program that it cannot find or execute.
    fileprivate var launchStatus: ExitStatus? {
        guard outcome == .failed, let cause, cause.hasPrefix("cannot start: exec ") else { return nil }
        let isAbsent = cause.hasSuffix(": no such file or directory") && !cause.contains("exec the interpreter of ")
        return isAbsent ? .programNotFound : .programNotExecutable
    }
}

extension ExitStatus {
    /// Returns the exit status that a shell would give.
    static func of(_ ended: EndedRow) -> ExitStatus {
        if ended.notNeeded { return .done }
        if ended.outcome == .timedOut { return .operationTimedOut }
        // The operation reported success itself, and its other processes were ended by a signal.
        if ended.outcome == .succeeded, ended.exitCode == nil { return .done }
        if let signal = ended.signal { return ExitStatus(code: Int32(truncatingIfNeeded: 128 + signal)) }
        if let code = ended.exitCode, code != 0 || ended.outcome == .succeeded {
            // An earlier opsd or an executor may have stored a number that is no exit status.
            return UInt8(exactly: code).map { ExitStatus(code: Int32($0)) } ?? .unsuccessful
        }
        if let launch = ended.launchStatus { return launch }
        switch ended.outcome {
        case .succeeded: return .done
        // The process exited with 0 after the signal, which does not count as success.
        case .cancelled where ended.exitCode != nil: return ExitStatus(code: 143)
        // The process exited with 0, but the operation failed because of its `successCodes`, `opsctl finish`, or its
        // children.
        case .failed where ended.exitCode != nil: return .unsuccessful
        default: return .own
        }
    }
}

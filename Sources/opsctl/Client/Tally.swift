internal import OpsWire

/// Ends of the operations that are waited for.
struct Tally {
    private(set) var first: EndedRow?
    /// By id, with the place in the order of ends.
    private var unsuccessful: [Int64: (place: Int, end: EndedRow)] = [:]
    private var known: Set<Int64> = []
    private var count = 0

    /// Adds an end; returns false if it is known already. An operation that is retried meanwhile ends again, and that
    /// end counts.
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
        let firstUnsuccessful = unsuccessful.values.min { $0.place < $1.place }?.end
        let decisive = any ? first : firstUnsuccessful ?? first
        guard let decisive else { return .done }
        if exitCode { return .of(decisive) }
        return decisive.isUnsuccessful ? .unsuccessful : .done
    }
}

extension EndedRow {
    /// True if the end counts as a failure.
    var isUnsuccessful: Bool { outcome != .succeeded && !notNeeded }

    /// The status that a shell gives for a program that it cannot find, or cannot execute.
    fileprivate var launchStatus: ExitStatus? {
        guard outcome == .failed, let cause, cause.hasPrefix("cannot start: exec ") else { return nil }
        let isAbsent = cause.hasSuffix(": no such file or directory") && !cause.contains("exec the interpreter of ")
        return isAbsent ? .programNotFound : .programNotExecutable
    }
}

extension ExitStatus {
    /// Returns the status that a shell would give.
    static func of(_ ended: EndedRow) -> ExitStatus {
        if ended.notNeeded { return .done }
        if ended.outcome == .timedOut { return .operationTimedOut }
        // It reported success itself, and the rest of its processes got a signal.
        if ended.outcome == .succeeded, ended.exitCode == nil { return .done }
        if let signal = ended.signal { return ExitStatus(code: Int32(truncatingIfNeeded: 128 + signal)) }
        if let code = ended.exitCode, code != 0 || ended.outcome == .succeeded {
            return ExitStatus(code: Int32(truncatingIfNeeded: code))
        }
        if let launch = ended.launchStatus { return launch }
        switch ended.outcome {
        case .succeeded: return .done
        // It exited 0 on the signal, which is no success.
        case .cancelled where ended.exitCode != nil: return ExitStatus(code: 143)
        // It exited 0, which was no success by its `successCodes`, by `opsctl finish`, or by its children.
        case .failed where ended.exitCode != nil: return .unsuccessful
        default: return .own
        }
    }
}

internal import Glibc
public import OpsCore

/// Makes the text of a `Cause` for people. The caller looks up names and conditions.
struct CauseText {
    /// Name and outcome of another operation.
    struct Other {
        var name: String?
        var outcome: Outcome?
        /// True if it succeeded without an attempt, because of a condition with `succeed`.
        var isUpToDate = false
    }
    static let upToDate = "up to date"
    var other: (OperationID) throws(StoreError) -> Other
    /// Text of the condition at this position in the operation's list: `pathExists /x`.
    var condition: (Int32) throws(StoreError) -> String?

    func text(_ cause: Cause, of outcome: Outcome = .failed) throws(StoreError) -> String {
        switch cause {
        case .finishedBy(let user, let message) where outcome == .succeeded:
            return "approved by \(user)" + note(message)
        case .exitStatus(let status): return "exit status \(status)"
        case .signal(let signal): return "killed by \(signalName(signal))"
        case .outOfMemory: return "out of memory"
        case .cannotStart("start", ETIMEDOUT):
            return "cannot start: the program did not run within 5s, and its process was killed"
        case .cannotStart(let step, let errno): return "cannot start: \(step): \(errorText(errno))"
        case .ranLongerThan(let time): return "ran longer than \(durationText(time))"
        case .deadlinePassed: return "its deadline passed"
        case .cancelledBy(let user, let reason): return "cancelled by \(user)" + note(reason)
        case .groupCancelled(let group): return "group \(try label(group)) was cancelled"
        case .groupTimedOut(let group): return "group \(try label(group)) timed out"
        case .groupSkipped(let group, let root): return try groupText(group, root)
        case .dependency(let root, let outcome): return try dependencyText(root, outcome)
        case .providedFor(let other, let outcome): return "provided for \(try label(other)), which \(outcome.verb)"
        case .neverStarted(let root): return "dependency \(try label(root)) ended without starting"
        case .conditionFalse(let index, let detail): return try conditionText(index, detail)
        case .children(let first, let count): return try childrenText(first, count)
        case .runnerLost: return "the runner died"
        case .machineRestarted: return "the machine restarted"
        case .abandoned(let user, let reason): return "given up by \(user), its processes may be alive" + note(reason)
        case .finishedBy(let user, let message): return "rejected by \(user)" + note(message)
        case .refused(let text): return "refused" + note(text)
        case .engine(let text): return text
        case .upToDate: return Self.upToDate
        case .reported(let status): return "it reported status \(status)"
        }
    }

    private func note(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "" }
        return ": \(text)"
    }

    /// `12 (build)`, or `12` for one without a name.
    private func label(_ id: OperationID) throws(StoreError) -> String {
        guard let name = try other(id).name else { return "\(id.rawValue)" }
        return "\(id.rawValue) (\(name))"
    }

    private func conditionText(_ index: Int32, _ detail: String) throws(StoreError) -> String {
        let asked = try condition(index).map { " (\($0))" } ?? ""
        let result = detail.hasPrefix(Cause.notEvaluated) ? " " + detail : " is false" + note(detail)
        return "condition \(index + 1)\(asked)" + result
    }

    /// Returns the cause of an operation that was skipped with the group around it. A group that is the root cause itself
    /// has failed, is up to date or was not needed.
    private func groupText(_ group: OperationID, _ root: Cause.Root?) throws(StoreError) -> String {
        let label = "group \(try label(group))"
        guard let root else { return "\(label) was skipped" }
        if root.operation != group {
            return "\(label) was skipped" + note(try dependencyText(root.operation, root.outcome))
        }
        switch root.outcome {
        case .succeeded: return "\(label) is up to date"
        case .notNeeded: return "\(label) was skipped"
        default: return "\(label) \(root.outcome.verb)"
        }
    }

    private func dependencyText(_ root: OperationID, _ outcome: Outcome) throws(StoreError) -> String {
        let label = "dependency \(try label(root))"
        guard outcome == .succeeded, try other(root).isUpToDate else { return "\(label) \(outcome.verb)" }
        return "\(label) is up to date"
    }

    private func childrenText(_ first: OperationID, _ count: Int32) throws(StoreError) -> String {
        let ended = try (other(first).outcome ?? .failed).verb
        let more = count > 1 ? " and \(count - 1) more did not succeed" : ""
        return "child \(try label(first)) \(ended)\(more)"
    }

    private func errorText(_ errno: Int32) -> String {
        guard let words = unsafe strerror(errno) else { return "error \(errno)" }
        let text = unsafe String(cString: words)
        // "No such file" gets a small first letter within a sentence, but "I/O error" does not.
        guard let first = text.first, let second = text.dropFirst().first, second.isLowercase else { return text }
        return first.lowercased() + text.dropFirst()
    }
}

extension Cause {
    /// Beginning of the detail of `conditionFalse` for a condition whose result is unknown.
    public static let notEvaluated = "cannot be evaluated"
}

/// `SIGTERM`, or `signal 40` for one without a name.
public func signalName(_ signal: Int32) -> String {
    guard signalNames.indices.contains(Int(signal) - 1) else { return "signal \(signal)" }
    return "SIG" + signalNames[Int(signal) - 1]
}

/// Names of Linux signals, from 1 on (Swift cannot import the table of glibc).
private let signalNames = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
]

/// `500us`, `250ms`, `30s`, `1m30s`, `1h`: as durations are written in a graph file.
func durationText(_ duration: TimeSpan) -> String {
    let units: [(Int64, String)] = [
        (3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"),
        (1, "ns"),
    ]
    var rest = duration.nanoseconds
    var text = ""
    for (size, unit) in units where rest >= size {
        text += "\(rest / size)\(unit)"
        rest %= size
    }
    return text.isEmpty ? "0s" : text
}

extension Outcome {
    /// Verb for the outcome, in a sentence about the operation.
    public var verb: String {
        switch self {
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .timedOut: "timed out"
        case .cancelled: "was cancelled"
        case .skipped: "was skipped"
        case .interrupted: "was interrupted"
        case .notNeeded: "was not needed"
        }
    }
}

/// How those that ended did.
struct Tally {
    private(set) var first: JSONView?
    /// By id, with the place in the order of ends.
    private var unsuccessful: [Int: (place: Int, end: JSONView)] = [:]
    private var known: Set<Int> = []
    private var count = 0

    /// False where that end is known already. One that was retried meanwhile ends again, and that counts.
    mutating func add(_ ended: JSONView) -> Bool {
        let id = ended["id"]?.integer ?? 0
        let hasSucceeded = ended["outcome"]?.text == "succeeded"
        let isNew = known.insert(id).inserted
        guard isNew || hasSucceeded == (unsuccessful[id] != nil) else { return false }
        count += 1
        unsuccessful[id] = hasSucceeded ? nil : (count, ended)
        if first == nil || first?["id"]?.integer == id { first = ended }
        return true
    }

    func status(any: Bool, exitCode: Bool) -> ExitStatus {
        let firstUnsuccessful = unsuccessful.values.min { $0.place < $1.place }?.end
        let decisive = any ? first : firstUnsuccessful ?? first
        guard let decisive else { return .done }
        if exitCode { return .of(decisive) }
        return decisive["outcome"]?.text == "succeeded" ? .done : .unsuccessful
    }
}

extension ExitStatus {
    /// The status a shell would give for what has ended so.
    static func of(_ ended: JSONView) -> ExitStatus {
        let outcome = ended["outcome"]?.text
        if outcome == "timedOut" { return .operationTimedOut }
        // It said that it was done, and what was left of it got a signal.
        if outcome == "succeeded", ended["exitCode"]?.integer == nil { return .done }
        if let signal = ended["signal"]?.integer { return ExitStatus(code: Int32(truncatingIfNeeded: 128 + signal)) }
        if let code = ended["exitCode"]?.integer, code != 0 || outcome == "succeeded" {
            return ExitStatus(code: Int32(truncatingIfNeeded: code))
        }
        switch outcome {
        case "succeeded"?: return .done
        // It exited 0 on the signal, which is no success.
        case "cancelled"? where ended["exitCode"] != nil: return ExitStatus(code: 143)
        // It exited 0, which was no success by its `successCodes`, by a word of somebody's, or by its children.
        case "failed"? where ended["exitCode"] != nil: return .unsuccessful
        default: return .own
        }
    }
}

/// False facts that are added to the evidence, one at a time. A checker that misses one of them proves nothing.
enum Canaries {
    /// Returns the false facts that were not found.
    static func missed(in evidence: Evidence, findings: Int) -> [String] {
        let found = { (canary: Lie, findings: Int, check: (inout Checker) -> Void) -> String? in
            var copy = evidence
            guard canary.plant(&copy) else { return "\(canary.name): this run has no evidence to falsify" }
            var checker = Checker(copy)
            checker.enough = findings
            check(&checker)
            return checker.findings.count > findings ? nil : canary.name
        }
        var honest = Checker(evidence)
        honest.checkCompanions()
        return all.compactMap { found($0, findings) { $0.run() } }
            + ofCompanions(evidence).compactMap { found($0, honest.findings.count) { $0.checkCompanions() } }
    }

    /// Returns all false facts for the evidence of this run.
    static func lies(for evidence: Evidence) -> [Lie] { all + ofCompanions(evidence) }

    private static let all: [(name: String, plant: @Sendable (inout Evidence) -> Bool)] = [
        (
            "an acknowledged operation is missing",
            {
                guard let id = $0.ledger.ids.last else { return false }
                return $0.rows.removeValue(forKey: id) != nil
            }
        ),
        (
            "an attempt started twice",
            {
                guard let start = $0.marks.starts.last else { return false }
                $0.marks.starts.append(start)
                return true
            }
        ),
        (
            "a lock was not free",
            {
                $0.marks.brokenLocks.append("planted")
                return true
            }
        ),
        (
            "a named unit had two holders",
            {
                $0.marks.brokenLocks.append("operation 1 (s0-1), attempt 1, did not get OPS_UNITS_TPU=t0:0")
                return true
            }
        ),
        (
            "operations start more often than the rate of their category allows",
            startTogether
        ),
        (
            "an instant of a schedule ran twice",
            {
                guard let last = $0.calendar?.ticks.last else { return false }
                $0.calendar?.ticks.append(last)
                return true
            }
        ),
        (
            "an instant of a schedule was forgotten",
            {
                guard let count = $0.calendar?.records.count, count > 2 else { return false }
                $0.calendar?.records.remove(at: count / 2)
                return true
            }
        ),
        (
            "a file started two runs",
            {
                guard let last = $0.calendar?.files.last else { return false }
                $0.calendar?.files.append(last)
                return true
            }
        ),
        (
            "a file is in no run",
            {
                $0.calendar?.recordedFiles -= 1
                return true
            }
        ),
        (
            "the daemon reported a fault of its own",
            {
                $0.ownFaults.append("planted")
                return true
            }
        ),
        ("a dependent started first", startBefore),
        (
            "an exit status is wrong",
            { evidence in
                guard let row = evidence.rows.values.first(where: { $0.attempts.last?.outcome == "succeeded" }) else {
                    return false
                }
                evidence.rows[row.id]?.attempts[row.attempts.count - 1].exitCode = 7
                return true
            }
        ),
        (
            "a log is cut",
            {
                guard !$0.logs.isEmpty else { return false }
                $0.logs[0].shown?.removeLast()
                return true
            }
        ),
        (
            "an operation has not settled",
            {
                guard let id = $0.rows.keys.first else { return false }
                $0.rows[id]?.state = "executing"
                return true
            }
        ),
        (
            "an event is missing",
            {
                guard $0.events.count > 10 else { return false }
                $0.events.remove(at: $0.events.count / 2)
                return true
            }
        ),
        (
            "an event was taken back",
            {
                guard let place = $0.watched.events.indices.last else { return false }
                $0.watched.events[place] = "{}"
                return true
            }
        ),
        (
            "an operation waited for an hour beside a free slot",
            { evidence in
                let samples = Ways(evidence).starts()
                guard let sample = samples.first(where: { $0.longest < Checker.longestWait }) else { return false }
                evidence.marks.startsOf[sample.id]?[0].at += Self.hour
                return true
            }
        ),
        (
            "an operation without dependencies was submitted as pending",
            { evidence in
                guard let id = Ways(evidence).roots().first(where: \.isReady)?.id,
                    let place = evidence.events.firstIndex(where: { $0.id == id })
                else { return false }
                evidence.events[place].new = "pending"
                return true
            }
        ),
        (
            "the end of an operation was noticed after an hour",
            { evidence in
                let samples = Ways(evidence).ends()
                guard let id = samples.first(where: { $0.longest < Checker.longestWait })?.id,
                    let place = evidence.events.firstIndex(where: { $0.id == id && $0.old == "executing" })
                else { return false }
                evidence.events[place].instant += Self.hour
                return true
            }
        ),
        (
            "an operation has an attacker's status",
            {
                guard let id = $0.rows.keys.first else { return false }
                $0.rows[id]?.statusText = Attacker.mine
                return true
            }
        ),
        (
            "an attempt has the exit code of a forged end",
            { evidence in
                guard let row = evidence.rows.values.first(where: { $0.attempts.last?.outcome == "failed" }) else {
                    return false
                }
                evidence.rows[row.id]?.attempts[row.attempts.count - 1].exitCode = 99
                return true
            }
        ),
        (
            "a log has an attacker's bytes",
            {
                $0.foreignLogs.append("planted")
                return true
            }
        ),
        (
            "an attacker has read a file",
            {
                $0.powers.append("planted")
                return true
            }
        ),
        (
            "a call was answered after an hour",
            {
                guard let end = $0.ledger.answered.last?.time.upperBound else { return false }
                $0.ledger.answered.append(.init(method: "Submit", time: end...end + Self.hour))
                return true
            }
        ),
        ("an operation started before its notBefore", { delayFirst(&$0, notBefore: .greatestFiniteMagnitude) }),
        ("the delay of an operation was ignored", { delayFirst(&$0, notBefore: 0) }),
    ]

    /// Longer than a run: faults of the torture do not explain most of it.
    private static let hour = 3600.0

    /// Pretends that an operation that has started was to wait, and has this `notBefore`.
    private static func delayFirst(_ evidence: inout Evidence, notBefore: Double) -> Bool {
        for event in evidence.events where event.type == "started" {
            guard let id = event.id, let row = evidence.rows[id], row.run == 1, evidence.planned[row.name] != nil else {
                continue
            }
            evidence.planned[row.name]?.delay = 0.001
            evidence.rows[id]?.notBefore = notBefore
            return true
        }
        return false
    }

    /// Pretends that the last operations of a category with a rate started at the same instant.
    @Sendable private static func startTogether(_ evidence: inout Evidence) -> Bool {
        let starts = evidence.marks.starts.indices.filter {
            evidence.planned[evidence.marks.starts[$0].name]?.isRated == true
        }.suffix(Planner.rate.count + 1)
        guard starts.count > Planner.rate.count, let last = starts.last else { return false }
        let instant = evidence.marks.starts[last].at
        let ids = Set(starts.map { evidence.marks.starts[$0].attempt.id })
        for start in starts { evidence.marks.starts[start].at = instant }
        for place in evidence.events.indices {
            guard let id = evidence.events[place].id, ids.contains(id), evidence.events[place].type == "started" else {
                continue
            }
            evidence.events[place].instant = instant
        }
        return true
    }

    /// Pretends that a process still wrote after an operation that waits for it had started.
    @Sendable private static func startBefore(_ evidence: inout Evidence) -> Bool {
        for (name, plan) in evidence.planned {
            guard let id = evidence.idOf[name], evidence.marks.startsOf[id] != nil else { continue }
            for edge in plan.after where edge.when == "finished" {
                guard let on = evidence.idOf[edge.on], evidence.rows[on]?.run == 1, evidence.marks.startsOf[on] != nil,
                    !evidence.ledger.edgesInDoubt.contains(where: { $0.id == id && $0.on == on })
                else { continue }
                evidence.marks.lastPlaceOf[on] = .max
                return true
            }
        }
        return false
    }
}

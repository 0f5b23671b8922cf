/// Compares the results of a run with the promises of opsd. It shares no code with the scheduler.
struct Checker {
    let evidence: Evidence
    private(set) var findings: [String] = []
    private(set) var report: [(promise: String, checked: Int)] = []
    var waiting = Waiting()
    /// Number of findings above which no more promises are checked.
    var enough: Int?
    /// Created at the first use.
    var ways: Ways?

    init(_ evidence: Evidence) { self.evidence = evidence }

    /// Checks the promises one after the other.
    mutating func run() {
        prove("during the run: no unanswered call, no hang, no wrong refusal") { $0.seenWhileRunning() }
        prove("acknowledged submissions exist, completely and once") { $0.submissions() }
        prove("acknowledged children exist, in the group of their producer") { $0.products() }
        prove("submissions without an acknowledgement exist completely or not at all") { $0.vanished() }
        prove("acknowledged cancels and retries have their effect") { $0.requests() }
        prove("no attempt starts twice, or without being recorded") { $0.starts() }
        prove("slots, categories, queue and group limits hold, as shown by kernel locks") { $0.exclusion() }
        prove("starts never exceed the rate of their category") { $0.rates() }
        prove("no operation starts before its dependencies are met") { $0.order() }
        prove("every operation has finished, with a possible outcome") { $0.outcomes() }
        prove("exit statuses are those of the processes") { $0.exits() }
        prove("logs are complete") { $0.logs() }
        prove("outcomes of groups follow from their children") { $0.groups() }
        prove("no start before notBefore or after the deadline, whatever the clock does") { $0.clock() }
        prove("each instant of a schedule has one record and runs at most once") { $0.instants() }
        prove("each file starts one run") { $0.triggers() }
        checkCompanions()
        prove("events: none is missing, unreported or changed later") { $0.stream() }
        prove("only allowed changes of state occur") { $0.transitions() }
        let bound = "\(Int(Self.longestWait)) s"
        prove("no operation waits more than \(bound) while a slot is free") { $0.waits() }
        prove("operations without dependencies are ready at once") { $0.readiness() }
        prove("the end of a process is noticed within \(bound)") { $0.ends() }
        prove("no text or end of an operation comes from another user's process") { $0.impersonation() }
        prove("logs contain no bytes of other users, and respect their limit") { $0.foreignBytes() }
        prove("attackers have no power over other users") { $0.powers() }
        prove("calls are answered within \(bound)") { $0.answers() }
        prove("the daemon reports no fault of its own") { $0.ownFaults() }
    }

    /// Checks the promises about transfers, functions and the page.
    mutating func checkCompanions() {
        prove("exit statuses of transfers are those that their server can cause") { $0.transferExits() }
        prove("transfers have exactly the bytes of the server; cancelled ones leave no partial file") { $0.transfers() }
        prove("no operation has an exclusive category of a transfer in progress") { $0.transferCategories() }
        prove("functions run once in each attempt, and are found again by their key") { $0.functions() }
        prove("the page receives each event once, in order, also after a reconnection") { $0.pageStream() }
        prove("the page gives no user additional rights") { $0.pageRights() }
    }

    private mutating func prove(_ promise: String, _ check: (inout Checker) -> Int) {
        if let enough, findings.count > enough { return }
        let before = findings.count
        let checked = check(&self)
        report.append((promise, checked))
        for place in before..<findings.count { findings[place] = "\(promise): \(findings[place])" }
    }

    mutating func find(_ text: String) { findings.append(text) }

    // MARK: Requests

    private mutating func seenWhileRunning() -> Int {
        for finding in evidence.ledger.findings { find(finding) }
        return evidence.ledger.calls.values.reduce(0, +)
    }

    private mutating func submissions() -> Int {
        var checked = 0
        for submission in evidence.ledger.submissions.values {
            guard let ids = submission.ids else { continue }
            for (name, id) in ids {
                checked += 1
                guard let row = evidence.rows[id] else {
                    find("operation \(id) (\(name)) was acknowledged and does not exist")
                    continue
                }
                if row.name != name { find("operation \(id) was acknowledged as \(name) and is \(row.name)") }
                if row.graph != submission.graph {
                    find("operation \(id) is in \(row.graph), not in \(submission.graph ?? "")")
                }
            }
        }
        let names = evidence.rows.values.map(\.name)
        if Set(names).count != names.count { find("\(names.count - Set(names).count) operations exist twice") }
        return checked
    }

    /// Checks that children are in the group of their producer, which does not succeed unless they do.
    private mutating func products() -> Int {
        for (child, producer) in evidence.marks.produced {
            guard let row = evidence.idOf[child].flatMap({ evidence.rows[$0] }), let parent = evidence.rows[producer]
            else {
                find("operation \(producer) or its child \(child), whose submission was acknowledged, does not exist")
                continue
            }
            if row.group != producer || row.graph != parent.graph {
                find("child \(child) of operation \(producer) is in group \(row.group ?? 0), graph \(row.graph)")
            }
            if parent.outcome == "succeeded", row.outcome != "succeeded" {
                find("operation \(producer) succeeded, and its child \(row.id) is \(row.outcome ?? row.state)")
            }
        }
        return evidence.marks.produced.count
    }

    private mutating func vanished() -> Int {
        var checked = 0
        for submission in evidence.ledger.submissions.values where submission.ids == nil {
            checked += 1
            let there = submission.operations.filter { evidence.idOf[$0.name] != nil }.count
            if there != 0, there != submission.operations.count {
                find("of submission \(submission.key), \(there) of \(submission.operations.count) operations exist")
            }
        }
        for row in evidence.rows.values where evidence.planned[row.name] == nil {
            find("operation \(row.id) (\(row.name)) was never submitted")
        }
        return checked
    }

    private mutating func requests() -> Int {
        var reported: [Int: Set<String>] = [:]
        for event in evidence.events {
            guard let id = event.id else { continue }
            let text = event.type == "finished" ? "finished \(event.outcome ?? "")" : event.type
            reported[id, default: []].insert(text)
        }
        for id in evidence.ledger.cancelled
        where reported[id]?.isDisjoint(with: ["cancelling", "finished cancelled"]) ?? true {
            find("the cancel of operation \(id) was acknowledged and had no effect")
        }
        for id in evidence.ledger.retried where (evidence.rows[id]?.run ?? 0) < 2 {
            find("the retry of operation \(id) was acknowledged, and it is in run \(evidence.rows[id]?.run ?? 0)")
        }
        return evidence.ledger.cancelled.count + evidence.ledger.retried.count
    }

    // MARK: Execution

    private mutating func starts() -> Int {
        var seen: Set<Marks.Attempt> = []
        for start in evidence.marks.starts {
            let attempt = start.attempt
            if !seen.insert(attempt).inserted {
                find("attempt \(attempt.number) of operation \(attempt.id) started twice")
            }
            guard let row = evidence.rows[attempt.id] else {
                find("operation \(attempt.id) (\(start.name)) executed and does not exist")
                continue
            }
            if row.name != start.name { find("operation \(attempt.id) is \(row.name) and executed \(start.name)") }
            if !row.attempts.contains(where: { $0.number == attempt.number }) {
                find("attempt \(attempt.number) of operation \(attempt.id) executed and is not recorded")
            }
        }
        for row in evidence.rows.values where row.attempts.map(\.number) != Array(1..<(row.attempt + 1)) {
            find("operation \(row.id) is at attempt \(row.attempt) and has attempts \(row.attempts.map(\.number))")
        }
        for line in evidence.marks.malformed { find("a malformed mark: \(line)") }
        return evidence.marks.starts.count
    }

    private mutating func ownFaults() -> Int {
        for line in evidence.ownFaults { find(line) }
        return evidence.faults.count
    }

    private mutating func exclusion() -> Int {
        for text in evidence.marks.brokenLocks { find(text) }
        return evidence.marks.starts.count
    }
}

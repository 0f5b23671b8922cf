/// Compares promises with results. It implements SPEC and knows nothing of the scheduler.
struct Checker {
    let evidence: Evidence
    private(set) var findings: [String] = []
    private(set) var report: [(promise: String, checked: Int)] = []
    var waiting = Waiting()
    /// Number of findings above which no more promises are checked.
    var enough: Int?
    /// Made when it is asked for.
    var ways: Ways?

    init(_ evidence: Evidence) { self.evidence = evidence }

    /// Checks every promise, one after the other.
    mutating func run() {
        prove("while it ran: no forgotten call, no hang, no wrong refusal") { $0.seenWhileRunning() }
        prove("acknowledged submissions are there, whole, once") { $0.submissions() }
        prove("acknowledged children are there, as their producers' own") { $0.products() }
        prove("submissions without an acknowledgement are there whole or not at all") { $0.vanished() }
        prove("acknowledged cancels, retries and edges are remembered") { $0.requests() }
        prove("no attempt starts twice, none without being on disk") { $0.starts() }
        prove("slots, categories, queue and group limits hold, by the kernel's locks") { $0.exclusion() }
        prove("no more start within a time than the rate of a category allows") { $0.rates() }
        prove("nothing starts before what it depends on") { $0.order() }
        prove("every operation has settled, with an outcome that can be") { $0.outcomes() }
        prove("exit statuses are those of the processes") { $0.exits() }
        prove("logs are whole") { $0.logs() }
        prove("groups end as their children did") { $0.groups() }
        prove("no start before notBefore or after the deadline, whatever the clock does") { $0.clock() }
        prove("each instant of a schedule has one record and runs at most once") { $0.instants() }
        prove("each file starts one run") { $0.triggers() }
        checkCompanions()
        prove("events: no gap, none untold, none untrue") { $0.stream() }
        prove("states change only as they may") { $0.transitions() }
        prove("nothing waits for more than 6 s to start beside a free slot") { $0.waits() }
        prove("what depends on nothing is ready at once") { $0.readiness() }
        prove("the end of a process is noticed within 6 s") { $0.ends() }
        prove("no text, no end of an operation comes from another user's process") { $0.impersonation() }
        prove("logs have no bytes of other users, and keep their limit") { $0.foreignBytes() }
        prove("attackers have no power over other users") { $0.powers() }
        prove("calls are answered within 6 s") { $0.answers() }
        prove("the daemon reports no fault of its own") { $0.ownFaults() }
    }

    /// The promises about transfers, functions and the page.
    mutating func checkCompanions() {
        prove("exit statuses of transfers are those that their server gives reason for") { $0.transferExits() }
        prove("transfers have exactly the bytes of the server; a cancelled one leaves nothing") { $0.transfers() }
        prove("nothing has a category of a transfer that is under way") { $0.transferCategories() }
        prove("functions run once in each attempt, and are found again by their key") { $0.functions() }
        prove("the page receives each event once, in order, also after a reconnection") { $0.pageStream() }
        prove("the page gives nobody a right") { $0.pageRights() }
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
                    find("operation \(id) (\(name)) was acknowledged and is not there")
                    continue
                }
                if row.name != name { find("operation \(id) was acknowledged as \(name) and is \(row.name)") }
                if row.graph != submission.graph {
                    find("operation \(id) is in \(row.graph), not in \(submission.graph ?? "")")
                }
            }
        }
        let names = evidence.rows.values.map(\.name)
        if Set(names).count != names.count { find("\(names.count - Set(names).count) operations are there twice") }
        return checked
    }

    /// Checks that a producer waits for its children, and fails if they do.
    private mutating func products() -> Int {
        for (child, producer) in evidence.marks.produced {
            guard let row = evidence.idOf[child].flatMap({ evidence.rows[$0] }), let parent = evidence.rows[producer]
            else {
                find("operation \(producer) was told that its child \(child) is stored, and one of them is not there")
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
                find("of submission \(submission.key) \(there) of \(submission.operations.count) operations are there")
            }
        }
        for row in evidence.rows.values where evidence.planned[row.name] == nil {
            find("operation \(row.id) (\(row.name)) was never submitted")
        }
        return checked
    }

    private mutating func requests() -> Int {
        var told: [Int: Set<String>] = [:]
        for event in evidence.events {
            guard let id = event.id else { continue }
            told[id, default: []].insert(event.type == "finished" ? "finished \(event.outcome ?? "")" : event.type)
        }
        for id in evidence.ledger.cancelled
        where told[id]?.isDisjoint(with: ["cancelling", "finished cancelled"]) ?? true {
            find("the cancel of operation \(id) was acknowledged and left no trace")
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
                find("operation \(attempt.id) (\(start.name)) executed and is not there")
                continue
            }
            if row.name != start.name { find("operation \(attempt.id) is \(row.name) and executed \(start.name)") }
            if !row.attempts.contains(where: { $0.number == attempt.number }) {
                find("attempt \(attempt.number) of operation \(attempt.id) executed and is not on record")
            }
        }
        for row in evidence.rows.values where row.attempts.map(\.number) != Array(1..<(row.attempt + 1)) {
            find("operation \(row.id) is at attempt \(row.attempt) and has attempts \(row.attempts.map(\.number))")
        }
        for line in evidence.marks.malformed { find("a mark that nobody can have written: \(line)") }
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

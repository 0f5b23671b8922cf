/// Report of a run and its checks.
struct Report {
    let evidence: Evidence
    let victims: Victims

    init(_ evidence: Evidence, _ victims: Victims) {
        self.evidence = evidence
        self.victims = victims
    }

    func tell() {
        var outcomes: [String: Int] = [:]
        for row in evidence.rows.values { outcomes[row.outcome ?? row.state, default: 0] += 1 }
        print("operations: \(evidence.rows.count): \(Self.list(outcomes))")
        print("attempts: \(evidence.marks.starts.count) executed; events: \(evidence.events.count)")
        print("calls: \(Self.list(evidence.ledger.calls))")
        var faults: [String: Int] = [:]
        for fault in evidence.faults { faults[fault.kind, default: 0] += 1 }
        // Clients also cause faults, in their own connections.
        for kind in ["connections cut", "vanished submissions"] { faults[kind] = evidence.ledger.calls[kind] }
        print("faults: \(faults.values.reduce(0, +)): \(Self.list(faults)); starts of opsd: \(victims.starts)")
        if !evidence.attacks.isEmpty {
            print("attackers and schedules: \(evidence.strangers.count) operations")
            for (what, count) in evidence.attacks.sorted(by: { $0.key < $1.key }) { print("  \(count) \(what)") }
        }
        if let transfers = evidence.transfers {
            print(
                "transfers: \(transfers.files.count) files, \(transfers.requests) requests to the server, "
                    + "\(transfers.fetches.count) of them with recorded times")
        }
        if let page = evidence.page {
            print("page: \(page.connections) connections, \(page.messages.count) messages")
        }
        if let functions = evidence.functions {
            print(
                "functions: \(functions.results.count) results, \(functions.starts) starts of the program, "
                    + "\(functions.attached) of them found earlier calls")
        }
        if let shim = victims.shim {
            print(
                "shim: \(shim.failedCalls) calls on the disk failed, \(shim.clockReadings) clock readings moved, "
                    + "\(shim.timersMoved) timers set again; the clock ended \(Int(shim.offset)) s ahead")
        } else {
            print("NOT TORTURED: clocks and I/O errors: there is no preloaded library (--shim)")
        }
        if let image = victims.disk.image {
            if !image.losesPower {
                print("NOT TORTURED: power cuts: \(image.kind.rawValue) has no call for them (DISK=ext4 or xfs)")
            }
        } else {
            print("NOT TORTURED: power cuts and write-back errors (DISK=ext4 or xfs, as root)")
        }
        if !victims.disk.canBeFull { print("NOT TORTURED: a full disk (DISK=small, ext4, xfs or btrfs, as root)") }
    }

    static func tell(_ checker: Checker, seed: UInt64) {
        for (promise, checked) in checker.report { print("  checked \(checked): \(promise)") }
        for (name, samples) in [
            ("starts", checker.waiting.starts), ("ends", checker.waiting.ends), ("answers", checker.waiting.answers),
        ] {
            print("\(name): \(Waiting.summary(samples))")
        }
        print("  checked \(Canaries.lies(for: checker.evidence).count): planted false facts are found")
        var times: [String: Int] = [:]
        for finding in checker.findings { times[finding, default: 0] += 1 }
        // Some of each promise: one that was broken in thousands of ways would hide the others.
        var shown: [Substring: Set<String>] = [:]
        for finding in checker.findings {
            let promise = finding.prefix { $0 != ":" }
            guard shown[promise, default: []].count < 12, shown[promise, default: []].insert(finding).inserted else {
                continue
            }
            print("VIOLATION \(times[finding] ?? 1) times: \(finding)")
        }
        print("torture: \(checker.findings.count) violations, seed \(seed)")
    }

    private static func list(_ counts: [String: Int]) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}

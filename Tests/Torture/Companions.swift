import Glibc

/// Clients and executors that run beside the load, if this machine has the programs that they need.
struct Companions: Sendable {
    let transfers: Transfers?
    let page: Page?
    let functions: Functions?

    init(_ victims: Victims, _ ledger: Ledger, _ arguments: Arguments) throws {
        transfers = try Transfers.find(victims, source: arguments.source)
        page = try Page.find(
            victims, ledger, source: arguments.source, seed: arguments.seed, sabotage: arguments.sabotage)
        functions = try Functions.find(
            victims, ledger, source: arguments.source, runsTwice: arguments.sabotage == .functions)
    }

    func begin() throws {
        page?.begin()
        try functions?.begin()
    }
}

extension Faults {
    static func choices(_ companions: Companions) -> [Choice] {
        var choices: [Choice] = []
        if companions.transfers != nil {
            choices.append(("kill-transfer", 10, { $0.killTransfers() }))
            choices.append(("stop-transfer", 4, { $0.pause($0.victims.transferPid, "opsd-transfer") }))
        }
        if let page = companions.page {
            choices.append(("kill-web", 7, { $0.begin(page.kill() ? "kill -9 opsd-web" : "nothing") }))
        }
        if let functions = companions.functions {
            choices.append(("kill-client", 7, { $0.begin(functions.kill() ? "kill -9 Python program" : "nothing") }))
        }
        return choices
    }

    private func killTransfers() -> Fault {
        guard let pid = victims.transferPid else { return begin("nothing") }
        kill(pid, SIGKILL)
        return begin("kill -9 opsd-transfer")
    }
}

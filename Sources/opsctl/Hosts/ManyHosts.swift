internal import OpsClient
internal import OpsWire

/// Runs a verb for several hosts at once and combines their output.
struct ManyHosts {
    let session: Session
    private let clients: [HostClient]

    private static let verbs = [
        LsVerb.verb.name, StatusVerb.verb.name, TopVerb.verb.name, WaitVerb.verb.name, WatchVerb.verb.name,
    ]

    init(_ session: Session, _ list: HostList) throws(Failure) {
        let arguments = session.arguments
        guard Self.verbs.contains(arguments.path) else {
            throw session.refuse(
                "it takes one host", "name one of them; \(Self.verbs.joined(separator: ", ")) take several")
        }
        if arguments.path == LsVerb.verb.name || arguments.path == StatusVerb.verb.name, arguments.has(LsVerb.watch) {
            throw session.refuse("--watch takes one host", "use opsctl top for several")
        }
        self.session = session
        var clients: [HostClient] = []
        for host in list.hosts {
            let operands = list.operands(arguments.operands, of: host)
            if operands.isEmpty, !arguments.operands.isEmpty { continue }
            let left: [Option] = [.host, .json, .color, .exitCode, LsVerb.columns, LsVerb.tree, WaitVerb.progress]
            let words = arguments.wordsForJSON(except: left, operands: operands)
            let isNamed = list.isNamed(host, in: arguments.operands)
            clients.append(try HostClient(host, isNamed: isNamed, words))
        }
        self.clients = clients
    }

    func run() throws(Failure) -> ExitStatus {
        defer { for client in clients { client.end() } }
        switch session.arguments.path {
        case LsVerb.verb.name: try list()
        case StatusVerb.verb.name: try status()
        case WaitVerb.verb.name: return try wait()
        case WatchVerb.verb.name: try watch()
        default: return try HostsScreen(session, clients).run()
        }
        return Self.status(of: clients)
    }

    /// Returns 3 if no host was reached, 1 if one was not, otherwise the first status that is not 0.
    ///
    /// A host without the selected operations counts only if no host has them, or if an operand names this host.
    static func status(of clients: [HostClient]) -> ExitStatus {
        let all = clients.compactMap(\.status)
        let unreached = all.count { $0 == .unreachable }
        if unreached == all.count { return unreached == 0 ? .done : .unreachable }
        if unreached > 0 { return .unsuccessful }
        if let status = all.first(where: { $0 != .done && $0 != .notFound }) { return status }
        let isMissing = all.allSatisfy { $0 == .notFound } || clients.contains { $0.isNamed && $0.status == .notFound }
        return isMissing ? .notFound : .done
    }

    /// Passes every line to `body` until all hosts have ended, or until `body` returns false.
    private func eachLine(_ body: (HostClient, [UInt8]) throws(Failure) -> Bool) throws(Failure) {
        while clients.contains(where: { $0.status == nil }) {
            for index in Readable.among(clients.map(\.descriptor)) {
                for line in try clients[index].read() {
                    if session.wantsJSON { try session.output.line(clients[index].labelled(line)) }
                    if try !body(clients[index], line) { return }
                }
            }
            try session.output.flush()
        }
    }

    private func list() throws(Failure) {
        if session.wantsJSON { return try eachLine { _, _ in true } }
        var rows: [String: [OperationRow]] = [:]
        try eachLine { (client, line) throws(Failure) in
            rows[client.host.name, default: []].append(try client.record(line))
            return true
        }
        let all = clients.map { (host: $0.host.name, rows: rows[$0.host.name] ?? []) }
        if session.arguments.has(LsVerb.tree) {
            for (host, rows) in all where !rows.isEmpty {
                try session.output.line(session.style(.bold, host + ":"))
                try OperationTree(rows).write(session, now: .now)
            }
        } else {
            try LsVerb.write(all, session)
        }
    }

    private func status() throws(Failure) {
        var isFirst = true
        try eachLine { (client, line) throws(Failure) in
            if session.wantsJSON { return true }
            if !isFirst { try session.output.line("") }
            isFirst = false
            try session.output.line(session.style(.bold, client.host.name + ":"))
            try StatusVerb.write(try client.record(line), session)
            return true
        }
    }

    /// Waits for the operations of all hosts, and returns the status of the first end without success, or of an error.
    private func wait() throws(Failure) -> ExitStatus {
        var tallies: [String: Tally] = [:]
        let isAny = session.arguments.has(WaitVerb.any)
        try eachLine { (client, line) throws(Failure) in
            let ended = try client.record(line, EndedRow.self)
            _ = tallies[client.host.name, default: Tally()].add(ended)
            if !session.wantsJSON { try WaitVerb.write(ended, session, host: client.host.name) }
            return !isAny
        }
        // The exit codes are in the ends, because an exit status of 3 or 4 would also be that of an error of opsctl.
        let wantsExitCode = session.arguments.has(.exitCode)
        let ends = clients.compactMap { tallies[$0.host.name]?.status(any: isAny, exitCode: wantsExitCode) }
        let end = ends.first { $0 != .done } ?? .done
        // With --any the first end decides, whatever the other hosts answer.
        if isAny, !ends.isEmpty { return end }
        let status = Self.status(of: clients)
        guard wantsExitCode else { return status }
        switch status {
        case .done: return end
        case .timedOut: return .operationTimedOut
        case .unsuccessful where !clients.contains(where: { $0.status == .unreachable }): return end
        default: return .own
        }
    }

    private func watch() throws(Failure) {
        try eachLine { (client, line) throws(Failure) in
            if session.wantsJSON { return true }
            try session.output.line(WatchVerb.line(try client.record(line), .init(), session, host: client.host.name))
            return true
        }
    }
}

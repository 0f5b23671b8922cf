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
            let left: [Option] = [.host, .json, .color, LsVerb.columns, LsVerb.tree, WaitVerb.progress]
            clients.append(try HostClient(host, arguments.words(except: left, operands: operands) + ["--json"]))
        }
        self.clients = clients
    }

    func run() throws(Failure) -> ExitStatus {
        defer { for client in clients { client.end() } }
        switch session.arguments.path {
        case LsVerb.verb.name: try list()
        case StatusVerb.verb.name: try status()
        case WaitVerb.verb.name:
            if let decisive = try wait() { return decisive }
        case WatchVerb.verb.name: try watch()
        default: return try HostsScreen(session, clients).run()
        }
        return Self.status(of: clients)
    }

    /// Returns 3 if no host was reached, 1 if one was not, otherwise the first status that is not 0.
    static func status(of clients: [HostClient]) -> ExitStatus {
        let all = clients.compactMap(\.status)
        let unreached = all.count { $0 == .unreachable }
        if unreached == all.count { return unreached == 0 ? .done : .unreachable }
        if unreached > 0 { return .unsuccessful }
        return all.first { $0 != .done } ?? .done
    }

    /// Passes every line to `take` until all hosts have ended, or until `take` returns false.
    private func eachLine(_ take: (HostClient, [UInt8]) throws(Failure) -> Bool) throws(Failure) {
        while clients.contains(where: { $0.status == nil }) {
            for index in Readable.among(clients.map(\.descriptor)) {
                for line in try clients[index].read() {
                    if session.wantsJSON { try session.output.line(clients[index].labelled(line)) }
                    if try !take(clients[index], line) { return }
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

    /// Returns the status of the first end, if that end decides.
    private func wait() throws(Failure) -> ExitStatus? {
        var decisive: ExitStatus?
        let isAny = session.arguments.has(WaitVerb.any)
        try eachLine { (client, line) throws(Failure) in
            let ended = try client.record(line, EndedRow.self)
            if !session.wantsJSON { try WaitVerb.tell(ended, session, host: client.host.name) }
            guard isAny else { return true }
            decisive =
                session.arguments.has(.exitCode) ? .of(ended) : ended.isUnsuccessful ? .unsuccessful : .done
            return false
        }
        return decisive
    }

    private func watch() throws(Failure) {
        try eachLine { (client, line) throws(Failure) in
            if session.wantsJSON { return true }
            try session.output.line(WatchVerb.line(try client.record(line), .init(), session, host: client.host.name))
            return true
        }
    }
}

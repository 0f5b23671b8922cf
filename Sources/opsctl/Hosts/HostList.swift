internal import OpsClient
internal import OpsSystem

extension Option {
    static let host = Option.value(
        "host", "HOST,...", .text,
        "the daemons of other hosts, through ssh: [USER@]HOST; several for ls, status, top, wait, watch")
}

/// The hosts of `--host` or `$OPS_HOST`.
struct HostList {
    let hosts: [RemoteHost]

    init(_ arguments: Arguments) throws(Failure) {
        guard let text = Self.text(arguments) else {
            hosts = []
            return
        }
        var hosts: [RemoteHost] = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            guard let host = RemoteHost(name, socket: arguments.text(.socket)) else {
                throw .usage(
                    arguments.path, "\"\(name)\" is not a host", "write --host [USER@]HOST, with commas between several"
                )
            }
            if !hosts.contains(host) { hosts.append(host) }
        }
        self.hosts = hosts
    }

    static func isGiven(_ arguments: Arguments) -> Bool { text(arguments) != nil }

    /// Returns the hosts of the command line or the environment. The environment is ignored if the command line names a
    /// local socket, and by a bridge, which is the remote side.
    private static func text(_ arguments: Arguments) -> String? {
        let named = Environment["OPS_HOST"].flatMap { $0.isEmpty || arguments.text(.socket) != nil ? nil : $0 }
        guard let text = arguments.text(.host) ?? named else { return nil }
        // Most runs name no host, and need not make these verbs.
        return [BridgeVerb.verb.name, HostVerb.verb.name].contains(arguments.verb.name) ? nil : text
    }

    /// Returns the operands for a host: those with the prefix `HOST:`, without it, and those without the prefix of any
    /// host.
    func operands(_ operands: [String], of host: RemoteHost) -> [String] {
        operands.flatMap { $0.split(separator: ",").map(String.init) }.compactMap { word in
            if let own = Self.stripped(word, of: host) { return own }
            return hosts.contains { Self.stripped(word, of: $0) != nil } ? nil : word
        }
    }

    /// Returns whether an operand has the prefix of a host.
    func isNamed(_ host: RemoteHost, in operands: [String]) -> Bool {
        operands.flatMap { $0.split(separator: ",").map(String.init) }.contains { Self.stripped($0, of: host) != nil }
    }

    /// Returns the operands for the only host, without its prefix. The words of a command are not changed.
    func ownOperands(_ arguments: Arguments, of host: RemoteHost) -> [String] {
        switch arguments.verb.operands {
        case .command, .nameAndCommand: return arguments.operands
        case .none, .list: break
        }
        return arguments.operands.map { Self.stripped($0, of: host) ?? $0 }
    }

    private static func stripped(_ word: String, of host: RemoteHost) -> String? {
        word.hasPrefix(host.name + ":") ? String(word.dropFirst(host.name.count + 1)) : nil
    }
}

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

    /// The environment does not matter to a command line that names a socket of this machine, and to a bridge, which is
    /// the far end.
    private static func text(_ arguments: Arguments) -> String? {
        if arguments.verb.name == BridgeVerb.verb.name || arguments.verb.name == HostVerb.verb.name { return nil }
        if let given = arguments.text(.host) { return given }
        guard arguments.text(.socket) == nil, let named = Environment["OPS_HOST"], !named.isEmpty else { return nil }
        return named
    }

    /// Returns the operands that concern a host: those that begin with its name and a colon, without that, and those
    /// that begin with no host's name.
    func operands(_ operands: [String], of host: RemoteHost) -> [String] {
        operands.flatMap { $0.split(separator: ",").map(String.init) }.compactMap { word in
            if let own = Self.stripped(word, of: host) { return own }
            return hosts.contains { Self.stripped(word, of: $0) != nil } ? nil : word
        }
    }

    /// Operands of the only host, without its name before them. The words of a command are left alone.
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

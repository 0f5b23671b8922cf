internal import Glibc
internal import OpsSystem

/// Another host, whose daemon is reached with `ssh HOST opsctl bridge`.
public struct RemoteHost: Hashable, Sendable {
    /// Destination for ssh: `[USER@]HOST`.
    public let name: String
    /// Path of the daemon's socket on that host, if it is not the usual one.
    public let socket: String?

    /// Returns nil for a name that ssh could mistake for an option.
    public init?(_ name: String, socket: String? = nil) {
        let isPlain = name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: ",") }
        guard !name.isEmpty, !name.hasPrefix("-"), !name.hasPrefix("@"), isPlain else { return nil }
        self.name = name
        self.socket = socket
    }

    /// Reason why a host cannot be reached.
    public enum Failure: Equatable, Sendable {
        /// The program that connects (ssh) could not be started.
        case notStarted(errno: Int32)
        /// The program ended with this status before the daemon answered.
        case ended(status: Int32)
        case silent(seconds: Int)
    }

    /// Longest time until the remote daemon answers, in seconds; longer if a person may have to type a password.
    var patience: Int { Terminal.isTerminal(0) ? 60 : 10 }

    /// Command that connects. `$OPS_SSH` is a shell command, to which the host and the remote command are appended.
    var command: [String] {
        let remote = ["opsctl", "bridge"] + (socket.map { ["--socket", ShellWord.typed($0)] } ?? [])
        if let own = Environment["OPS_SSH"], !own.isEmpty {
            return ["/bin/sh", "-c", "exec \(own) \"$@\"", "ssh", name] + remote
        }
        var options = ["-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15"]
        // Without a terminal nobody can answer a question of ssh.
        if !Terminal.isTerminal(0) { options += ["-o", "BatchMode=yes"] }
        return ["ssh"] + options + ["--", name] + remote
    }
}

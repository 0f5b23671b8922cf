internal import Glibc
internal import OpsSystem

/// Search for the socket of the daemon.
public enum SocketPath {
    private static let system = "/run/opsd/control.sock"

    /// Returns the given path, or else `$OPS_SOCKET`, or else the socket of the user's own daemon if there is one, or
    /// else the system's.
    public static func find(_ given: String? = nil) -> String {
        if let given { return given }
        if let path = Environment["OPS_SOCKET"], !path.isEmpty { return path }
        // cron, for example, does not set the variable.
        let given = Environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 }
        let path = (given ?? "/run/user/\(getuid())") + "/opsd/control.sock"
        return access(path, F_OK) == 0 ? path : system
    }

    /// Returns the operation inside which this process runs, if the daemon at this path runs it.
    public static func enclosingOperation(at path: String) -> Int64? {
        guard let text = Environment["OPS_ID"], let id = Int64(text), let socket = Environment["OPS_SOCKET"],
            socket == path
        else { return nil }
        return id
    }
}

internal import Glibc
internal import OpsSystem

/// Where the daemon is listening.
enum SocketPath {
    private static let system = "/run/opsd/control.sock"

    /// The option, else `$OPS_SOCKET`, else the user's own daemon where it has a socket, else the system's.
    static func chosen(_ option: String?) -> String {
        if let option { return option }
        if let path = Environment["OPS_SOCKET"], !path.isEmpty { return path }
        if let directory = Environment["XDG_RUNTIME_DIR"], !directory.isEmpty {
            let path = directory + "/opsd/control.sock"
            if access(path, F_OK) == 0 { return path }
        }
        return system
    }

    /// The operation within which this runs, if the daemon asked is the one that runs it.
    static func enclosingOperation(asking path: String) -> Int? {
        guard let id = Environment["OPS_ID"].flatMap({ Int($0) }), Environment["OPS_SOCKET"] == path else { return nil }
        return id
    }
}

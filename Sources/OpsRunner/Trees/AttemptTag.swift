internal import OpsExecutor
internal import OpsSystem

/// Identification of an attempt in the environment of its processes: operation, attempt and daemon, since each daemon
/// numbers its own operations.
struct AttemptTag: Hashable {
    var attempt: AttemptID
    /// Socket of the daemon.
    var socket: String

    init?(environment: [String]) {
        var operation: Int64?
        var number: Int32?
        var helper: Int32?
        var socket: String?
        let helperPrefix = AttemptID.helperVariable + "="
        for entry in environment {
            if entry.hasPrefix("OPS_ID=") { operation = Int64(entry.dropFirst(7)) }
            if entry.hasPrefix("OPS_ATTEMPT=") { number = Int32(entry.dropFirst(12)) }
            if entry.hasPrefix(helperPrefix) { helper = Int32(entry.dropFirst(helperPrefix.count)) }
            if entry.hasPrefix("OPS_SOCKET=") { socket = String(entry.dropFirst(11)) }
        }
        // Any process can have any environment.
        guard let operation, let number, let socket, helper.map({ $0 > 0 }) ?? true else { return nil }
        attempt = AttemptID(OperationID(operation), helper.map { -$0 } ?? number)
        self.socket = socket
    }
}

extension AttemptID {
    /// Name of the control group of this attempt.
    var groupName: String { "\(operation.rawValue).\(number)" }

    init?(groupName: String) {
        let parts = groupName.split(separator: ".")
        guard parts.count == 2, let operation = Int64(parts[0]), let number = Int32(parts[1]) else { return nil }
        self.init(OperationID(operation), number)
    }
}

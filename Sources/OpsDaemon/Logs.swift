internal import OpsCore
internal import OpsLinux

/// Where the output of attempts is: a thousand operations share a directory, so that none grows without bound.
struct Logs {
    let state: String

    enum Stream: Equatable {
        /// Both streams, or of a split attempt standard output.
        case output
        case error
    }

    func directory(of operation: OperationID) -> String { "\(state)/logs/\(operation.rawValue / 1000)" }

    func path(_ attempt: AttemptID, _ stream: Stream = .output) -> String {
        let suffix = stream == .error ? "err" : "log"
        return "\(directory(of: attempt.operation))/\(attempt.operation.rawValue).\(attempt.number).\(suffix)"
    }

    func makeDirectory(for operation: OperationID) throws(SystemError) {
        try Files.makeDirectories(directory(of: operation), mode: 0o700)
    }

    func remove(_ attempt: AttemptID) throws(SystemError) {
        try Files.remove(path(attempt))
        try Files.remove(path(attempt, .error))
    }
}

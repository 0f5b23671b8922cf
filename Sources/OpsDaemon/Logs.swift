internal import OpsCore
internal import OpsLinux

/// Where the output of attempts is: a thousand operations share a directory, so that none grows without bound.
final class Logs {
    let state: String
    /// The directory that was asked for last, and the one that was made last: neighbours share them.
    private var latest: (thousand: Int64, directory: String) = (-1, "")
    private var made = ""

    init(state: String) { self.state = state }

    enum Stream: Equatable {
        /// Both streams, or of a split attempt standard output.
        case output
        case error
    }

    func directory(of operation: OperationID) -> String {
        let thousand = operation.rawValue / 1000
        if thousand != latest.thousand { latest = (thousand, "\(state)/logs/\(thousand)") }
        return latest.directory
    }

    func path(_ attempt: AttemptID, _ stream: Stream = .output) -> String {
        let suffix = stream == .error ? "err" : "log"
        return "\(directory(of: attempt.operation))/\(attempt.operation.rawValue).\(attempt.number).\(suffix)"
    }

    func makeDirectory(for operation: OperationID) throws(SystemError) {
        let directory = directory(of: operation)
        if directory == made { return }
        try Files.makeDirectories(directory, mode: 0o700)
        made = directory
    }

    func remove(_ attempt: AttemptID) throws(SystemError) {
        try Files.remove(path(attempt))
        try Files.remove(path(attempt, .error))
    }
}

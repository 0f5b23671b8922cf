internal import OpsCore
internal import OpsSystem

/// Paths of the output of attempts. A thousand operations share a directory, so that none grows without bound.
final class Logs {
    let state: String
    var directory: String { state + "/logs" }
    /// The last directory that was looked up, and the last one that was made: operations with neighbouring ids share
    /// them.
    private var latest: (thousand: Int64, directory: String) = (-1, "")
    private var made = ""

    init(state: String) { self.state = state }

    enum Stream: Equatable {
        /// Both streams; standard output alone if an attempt has separate streams.
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

    /// Path of the output directory of an attempt.
    func outputDirectory(of attempt: AttemptID) -> String { Self.outputDirectory(of: attempt, in: outputs) }

    static func outputDirectory(of attempt: AttemptID, in outputs: String) -> String {
        "\(outputs)/\(attempt.operation.rawValue / 1000)/\(attempt.operation.rawValue).\(attempt.number)"
    }

    /// Directory of the output directories of all attempts.
    var outputs: String { state + "/outputs" }

    func makeDirectory(for operation: OperationID) throws(SystemError) {
        let directory = directory(of: operation)
        if directory == made { return }
        // The directory above is private too; other users can pass through the one above that.
        try Files.makeDirectories(self.directory, mode: 0o700)
        try Files.makeDirectories(directory, mode: 0o700)
        made = directory
    }

    /// Moves the logs and outputs of operations that are not stored to another directory: after a backup was restored,
    /// or the database was moved away, ids are given again. Returns that directory; nil if there were none.
    func setAside(from next: OperationID) throws(SystemError) -> String? {
        let outputs = try setAside(from: next, in: outputs)
        return try setAside(from: next, in: directory) ?? outputs
    }

    private func setAside(from next: OperationID, in all: String) throws(SystemError) -> String? {
        guard Files.isDirectory(all) else { return nil }
        let aside = "\(all)/aside-\(Clock.read().wall.nanoseconds / 1_000_000_000)"
        var unknown: [String] = []
        for thousand in try Files.list(all) {
            guard let number = Int64(thousand), number >= next.rawValue / 1000 else { continue }
            if number > next.rawValue / 1000 {
                unknown.append(thousand)
            } else {
                let names = try Files.list(all + "/" + thousand)
                unknown += names.filter { Logs.operation(ofFile: $0) ?? -1 >= next.rawValue }.map {
                    "\(thousand)/\($0)"
                }
            }
        }
        if unknown.isEmpty { return nil }
        try Files.makeDirectories(aside, mode: 0o700)
        for path in unknown {
            try Files.move(all + "/" + path, to: aside + "/" + (path.split(separator: "/").last ?? ""))
        }
        return aside
    }

    /// Returns the id of the operation in a file name such as `12.1.log`.
    private static func operation(ofFile name: String) -> Int64? {
        name.split(separator: ".").first.flatMap { Int64($0) }
    }

    /// Removes the logs and outputs of an attempt. Never called in the loop, since the user of the attempt can delay this.
    func remove(_ attempt: AttemptID) throws(SystemError) {
        for log in [path(attempt), path(attempt, .error)] { try Self.removeLog(log) }
        let outputs = outputDirectory(of: attempt)
        try Self.removeOutputs(outputs)
        // Directories of attempts with the same name, from before a backup was restored.
        var number = 1
        while Files.exists(UnusedDirectory.asidePath(of: outputs, number)) {
            try Self.removeOutputs(UnusedDirectory.asidePath(of: outputs, number))
            number += 1
        }
    }

    private static func removeOutputs(_ path: String) throws(SystemError) {
        if try !Files.removeDirectoryIfEmpty(path) { try DirectoryTree(path).remove() }
    }

    /// Removes a log and its times, also never in the loop.
    static func removeLog(_ path: String) throws(SystemError) {
        try LogFile(path, descriptor: nil, isOwnershipTaken: false).remove()
        try Files.remove(LogTimes.path(of: path))
    }
}

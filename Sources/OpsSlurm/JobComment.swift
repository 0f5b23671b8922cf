public import OpsExecutor

/// Comment of a job: the instance of the executor, and the attempt. It identifies the job. The number does not: after a
/// crash Slurm may use it for the job of another user.
public struct JobComment: Hashable, Sendable {
    public var instance: String
    public var attempt: Attempt

    public init(instance: String, attempt: Attempt) {
        self.instance = instance
        self.attempt = attempt
    }

    public var text: String { "opsd:\(instance):\(attempt.operation).\(attempt.number)" }

    /// Returns nil for the comment of any other job.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "opsd", !parts[1].isEmpty, let attempt = Attempt(spoolName: parts[2]) else {
            return nil
        }
        self.init(instance: String(parts[1]), attempt: attempt)
    }

    /// Name of all jobs of an instance, by which they are listed.
    public static func jobName(of instance: String) -> String { "opsd-\(instance)" }
}

extension Attempt {
    /// Name of its directory in the spool, such as `12.1`.
    public var spoolName: String { "\(operation).\(number)" }

    /// Returns nil for a text that is not exactly the name of an attempt.
    public init?(spoolName name: some StringProtocol) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let operation = Int64(parts[0]), let number = Int32(parts[1]) else { return nil }
        self.init(operation: operation, number: number)
        guard operation > 0, number > 0, spoolName == name else { return nil }
    }
}

public import OpsModel

/// Comment of a job: the instance of the executor, and the attempts. It identifies the job. The number does not: after a
/// crash Slurm may use it for the job of another user.
public struct JobComment: Hashable, Sendable {
    public var instance: String
    public var batch: Batch

    public init(instance: String, batch: Batch) {
        self.instance = instance
        self.batch = batch
    }

    public var text: String { "opsd:\(instance):\(batch.text)" }

    /// Returns nil for the comment of any other job.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "opsd", !parts[1].isEmpty, let batch = Batch(parts[2]) else { return nil }
        self.init(instance: String(parts[1]), batch: batch)
    }

    /// Name of all jobs of an instance, by which they are listed.
    public static func jobName(of instance: String) -> String { "opsd-\(instance)" }
}

extension AttemptID {
    /// Name of its directory in the spool, such as `12.1`.
    public var spoolName: String { "\(operation.rawValue).\(number)" }

    /// Returns nil for a text that is not exactly the name of an attempt.
    public init?(spoolName name: some StringProtocol) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let operation = Int64(parts[0]), let number = Int32(parts[1]) else { return nil }
        self.init(OperationID(operation), number)
        guard operation > 0, number > 0, spoolName == name else { return nil }
    }
}

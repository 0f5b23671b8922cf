public import OpsModel

/// Arguments of sbatch for one job.
public struct JobRequest: Hashable, Sendable {
    public var cpus: Int64?
    /// Bytes on each node.
    public var memory: Int64?
    public var gpus: Int64?
    public var nodes: Int64?
    public var tasks: Int64?
    public var partition: String?
    public var account: String?
    public var qos: String?
    public var constraint: String?
    /// Further options of sbatch, which were checked at the submission.
    public var further: [String] = []
    /// Zero: no limit.
    public var timeLimit = TimeSpan.zero
    public var niceness: Int32 = 0
    /// Number of operations that may share a job.
    public var pack: Int64 = 1

    public init() {}

    /// Returns the command line that submits a held job. `script`: the program that the job runs, and its arguments.
    public func submission(_ comment: JobComment, output: String, script: [String]) -> [String] {
        var words = [
            "sbatch", "--hold", "--no-requeue", "--parsable", "--export=ALL", "--open-mode=append",
            "--job-name=\(JobComment.jobName(of: comment.instance))", "--comment=\(comment.text)",
            "--output=\(Self.quoted(output))", "--chdir=/",
        ]
        if comment.batch.isArray { words.append("--array=0-\(comment.batch.taskCount - 1)") }
        return words + common(comment.batch) + script
    }

    /// Returns the command line that tests whether such a job could ever run, which Slurm does not check for a held
    /// job.
    public func test(_ batch: Batch, script: [String]) -> [String] {
        ["sbatch", "--test-only"] + (minutes(batch).map { ["--time=\($0)"] } ?? []) + resources + script
    }

    /// Options that are the same for all tasks of an array.
    private func common(_ batch: Batch) -> [String] {
        var words: [String] = []
        if let minutes = minutes(batch) { words.append("--time=\(minutes)") }
        if niceness > 0 { words.append("--nice=\(niceness)") }
        return words + resources
    }

    /// Time limit of all attempts of a task, in whole minutes, rounded up. 0 means no limit to Slurm.
    private func minutes(_ batch: Batch) -> Int64? {
        guard timeLimit > .zero else { return nil }
        let count = Int64(min(batch.pack, batch.attempts.count))
        let (total, isTooLong) = timeLimit.nanoseconds.multipliedReportingOverflow(by: count)
        return isTooLong ? nil : (total - 1) / 60_000_000_000 + 1
    }

    private var resources: [String] {
        var words: [String] = []
        if let cpus { words.append("--cpus-per-task=\(cpus)") }
        if let memory { words.append("--mem=\((max(memory, 1) - 1) / 1024 + 1)K") }
        if let gpus { words.append("--gpus=\(gpus)") }
        if let nodes { words.append("--nodes=\(nodes)") }
        if let tasks { words.append("--ntasks=\(tasks)") }
        if let partition { words.append("--partition=\(partition)") }
        if let account { words.append("--account=\(account)") }
        if let qos { words.append("--qos=\(qos)") }
        if let constraint { words.append("--constraint=\(constraint)") }
        return words + further
    }

    /// Escapes `%`: Slurm replaces %j and others in file names.
    private static func quoted(_ path: String) -> String {
        path.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%")
    }
}

public import OpsModel

/// Job that Slurm has accepted for an attempt and does not list: Slurm has lost it, or its name or comment was changed,
/// for example by a plug-in of the site. It cannot start the attempt, whose fence is closed.
public struct UnlistedJob: Hashable, Sendable {
    public var job: String
    public var attempt: AttemptID
    public var fence: Int

    public init(job: String, attempt: AttemptID, fence: Int) {
        self.job = job
        self.attempt = attempt
        self.fence = fence
    }

    /// Command that prints these jobs by their numbers, except those of other users. The comment is last, since it can
    /// contain any text.
    public static func command(_ jobs: [UnlistedJob]) -> [String] {
        let numbers = Set(jobs.map(\.job)).sorted().joined(separator: ",")
        return ["squeue", "--me", "--all", "-r", "-h", "--jobs=\(numbers)"]
            + ["--Format=JobArrayID:|,State:|,Reason:|,Name:|,Comment:|"]
    }

    /// Returns the numbers of those that are held. By now Slurm may have given a number to another job, which is left
    /// alone.
    public static func held(among jobs: [UnlistedJob], in output: String, instance: String) -> [String] {
        let unlisted = Dictionary(grouping: jobs, by: \.job)
        return output.split(separator: "\n").compactMap { line -> String? in
            let parts = line.split(separator: "|", maxSplits: 4, omittingEmptySubsequences: false)
            guard parts.count == 5, parts[4].last == "|", parts[1] == "PENDING", parts[2] == "JobHeldUser" else {
                return nil
            }
            let job = String(parts[0])
            let isOne = unlisted[job, default: []].contains {
                $0.matches(name: parts[3], comment: parts[4].dropLast(), instance: instance)
            }
            return isOne ? job : nil
        }
    }

    /// Returns whether a job with its number was made for the attempt. Its comment or its name must be unchanged.
    private func matches(name: Substring, comment: Substring, instance: String) -> Bool {
        guard let found = JobComment(comment) else { return name == JobComment.jobName(of: instance) }
        return found.instance == instance && found.batch.fence == fence && found.batch.attempts.contains(attempt)
    }
}

/// Outcome of a submission, according to sbatch.
public enum Submission: Hashable, Sendable {
    case accepted(job: String)
    /// There is no job: nothing was sent, or Slurm has refused it with this message.
    case refused(String)
    /// The reply is lost: the job may exist.
    case ambiguous(String)

    /// Texts of errors that Slurm itself returns. Any other error may be a lost reply.
    private static let refusals = [
        "invalid", "not available", "not permitted", "denied", "unrecognized", "not found", "no such", "violates",
        "more processors requested", "exceeds", "unable to allocate resources", "cannot be satisfied", "too many",
    ]
    /// Limits of how many jobs a user may have submitted: room comes with the end of a job.
    private static let limits = ["submitjob", "temporarily unable to accept"]
    private static let losses = [
        "socket timed out", "unable to contact", "connection refused", "communication", "authentication",
    ]
    /// Exit statuses of a program that could not be executed, for example while Slurm is being upgraded.
    private static let failedExecutions: Set<Int32> = [126, 127]
    /// Most characters of a message. The user of the job can add any text to that of sbatch.
    private static let longestMessage = 1000

    /// Interprets the end of sbatch. `status`: exit status; nil: a signal ended it, for example at its deadline.
    public init(status: Int32?, output: String, errors: String) {
        let text = Self.words(errors)
        let first = output.split(separator: "\n").last?.split(separator: ";").first ?? ""
        if status == 0, JobNumber(first) != nil {
            self = .accepted(job: String(first))
        } else if let status, status != 0 {
            let lower = text.lowercased()
            let isLost = Self.isLoss(text)
            // The name of the limit stands on a line before the last.
            let isLimit = Self.limits.contains { errors.lowercased().contains($0) }
            let isRefusal = status == 255 || Self.refusals.contains { lower.contains($0) }
            let isExecuted = !Self.failedExecutions.contains(status)
            self = isRefusal && isExecuted && !isLost && !isLimit ? .refused(text) : .ambiguous(text)
        } else {
            self = .ambiguous(text.isEmpty ? "sbatch did not answer" : text)
        }
    }

    /// Returns whether an error says that Slurm's controller did not answer.
    public static func isLoss(_ words: String) -> Bool {
        let lower = words.lowercased()
        return losses.contains { lower.contains($0) }
    }

    /// Returns the last error message without the name of the program.
    static func words(_ errors: String) -> String {
        var line = errors.split(separator: "\n").last { $0.contains(where: { !$0.isWhitespace }) } ?? ""
        for prefix in ["sbatch: ", "allocation failure: ", "error: ", "Batch job submission failed: "]
        where line.hasPrefix(prefix) {
            line = line.dropFirst(prefix.count)
        }
        return String(line.prefix(longestMessage))
    }
}

/// Outcome of a submission, according to sbatch.
public enum Submission: Hashable, Sendable {
    case accepted(job: String)
    /// There is no job: nothing was sent, or Slurm has refused it with this message.
    case refused(String)
    /// The reply is lost, with these messages: the job may exist.
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

    /// Interprets the end of sbatch. `status`: exit status; nil: a signal ended it, for example at its deadline.
    public init(status: Int32?, output: String, errors: String) {
        let words = SlurmMessage.lastLine(errors)
        let first = output.split(separator: "\n").last?.split(separator: ";").first ?? ""
        if status == 0, JobNumber(first) != nil {
            self = .accepted(job: String(first))
        } else if let status, status != 0, Self.isRefusal(words, of: errors, status: status) {
            self = .refused(words)
        } else {
            let text = SlurmMessage.text(errors)
            self = .ambiguous(text.isEmpty ? Self.silence(status) : text)
        }
    }

    /// Returns whether an error with the last line `words` says that Slurm has refused the job, for good.
    private static func isRefusal(_ words: String, of errors: String, status: Int32) -> Bool {
        // The name of the limit stands on a line before the last.
        let isLimit = limits.contains { errors.lowercased().contains($0) }
        if isLimit || isLoss(words) || failedExecutions.contains(status) { return false }
        let lower = words.lowercased()
        return status == 255 || refusals.contains { lower.contains($0) }
    }

    /// Text about an sbatch that has printed neither the number of a job nor an error.
    private static func silence(_ status: Int32?) -> String {
        guard let status else { return "no answer" }
        return status == 0 ? "no number of a job in its output" : "exit status \(status) without a message"
    }

    /// Returns whether an error says that Slurm's controller did not answer.
    public static func isLoss(_ words: String) -> Bool {
        let lower = words.lowercased()
        return losses.contains { lower.contains($0) }
    }
}

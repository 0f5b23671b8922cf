/// One row of a listing: a job of this instance.
public struct JobRow: Hashable, Sendable {
    public var job: String
    public var comment: JobComment
    public var user: UInt32
    public var state: JobState
    public var reason: String
    /// Wait status of the script, as wait(2) returns it.
    public var waitStatus: Int
    public var restarts: Int
    public var nodes: String
    /// Wall instant in nanoseconds at which Slurm expects the start of a waiting job; nil: no estimate.
    public var expectedStart: Int64?

    public init(
        job: String, comment: JobComment, user: UInt32, state: JobState, reason: String, waitStatus: Int, restarts: Int,
        nodes: String, expectedStart: Int64? = nil
    ) {
        self.job = job
        self.comment = comment
        self.user = user
        self.state = state
        self.reason = reason
        self.waitStatus = waitStatus
        self.restarts = restarts
        self.nodes = nodes
        self.expectedStart = expectedStart
    }

    /// True if the job waits for a release by its owner.
    public var isHeld: Bool { state.meaning == .pending && reason == "JobHeldUser" }

    /// True if Slurm says after the release that the job can never run.
    public var isImpossible: Bool {
        state.meaning == .pending && ["BadConstraints", "PartitionConfig", "PartitionNodeLimit"].contains(reason)
    }

    /// True if no process of an ended job is left. A node that is out of touch can still run them; a controller that
    /// has forgotten the start cancels the job without a signal, or starts it again, which the first record refuses.
    var provesEnd: Bool {
        state.meaning != .nodeFailed && waitStatus != 0 && waitStatus != Int(StartRecord.refusedStatus) << 8
    }

    /// State and reason as text: `PENDING (Priority)`.
    public var text: String {
        state.meaning == .pending && !reason.isEmpty && reason != "None" ? "\(state.name) (\(reason))" : state.name
    }
}

/// Listing of all jobs of an instance, taken with one command.
public struct JobListing: Hashable, Sendable {
    public private(set) var rows: [JobRow] = []

    /// Fields of a row, in this order. The comment is last, since its owner can put any text into it.
    private static let fields = [
        "JobID", "UserID", "State", "Reason", "exit_code", "RestartCnt", "NodeList", "StartTime", "Comment",
    ]
    /// Environment of the command: instants are seconds since 1970.
    public static let environment = ["SLURM_TIME_FORMAT=%s"]

    /// Command that prints only the jobs of the user who runs it: another user could put whole rows into a comment.
    /// `--all`: also those in partitions that are hidden from this user.
    public static func command(instance: String) -> [String] {
        [
            "squeue", "--me", "--all", "--name=\(JobComment.jobName(of: instance))", "-t", "all",
            "--Format=" + fields.map { "\($0):|" }.joined(separator: ","),
        ]
    }

    public init() {}

    /// Returns nil for `N/A`, which stands for no estimate.
    private static func instant(_ text: Substring) -> Int64? {
        guard let seconds = Int64(text), seconds > 0, seconds < .max / 1_000_000_000 else { return nil }
        return seconds * 1_000_000_000
    }

    /// Parses the output of squeue. Returns nil without a line of headers for all fields: output that is lost says
    /// nothing about jobs, and squeue omits fields that it does not know, and succeeds. Skips jobs with other comments.
    public init?(_ output: String, instance: String) {
        let lines = output.split(separator: "\n")
        guard let header = lines.first, header.last == "|",
            header.dropLast().split(separator: "|", omittingEmptySubsequences: false).count == Self.fields.count
        else { return nil }
        for line in lines.dropFirst() {
            let parts = line.split(
                separator: "|", maxSplits: Self.fields.count - 1, omittingEmptySubsequences: false)
            guard parts.count == Self.fields.count, parts[8].last == "|", let comment = JobComment(parts[8].dropLast()),
                comment.instance == instance
            else { continue }
            guard let user = UInt32(parts[1]), let status = Int(parts[4]), let restarts = Int(parts[5]),
                !parts[0].isEmpty, parts[0].allSatisfy(\.isNumber)
            else { return nil }
            let state = JobState(parts[2])
            rows.append(
                JobRow(
                    job: String(parts[0]), comment: comment, user: user, state: state, reason: String(parts[3]),
                    waitStatus: status, restarts: restarts, nodes: String(parts[6]),
                    expectedStart: state.meaning == .pending ? Self.instant(parts[7]) : nil))
        }
    }
}

/// Owners of all jobs of an instance, as root sees them.
public enum JobOwners {
    /// Command that prints nothing but numbers: a user could put whole rows into other fields.
    public static func command(instance: String) -> [String] {
        ["squeue", "--all", "--name=\(JobComment.jobName(of: instance))", "-t", "all", "--Format=UserID:|"]
    }

    /// Parses the output of squeue. Returns nil for anything but a header and numbers.
    public static func parse(_ output: String) -> Set<UInt32>? {
        let lines = output.split(separator: "\n")
        guard let header = lines.first, header.last == "|" else { return nil }
        let numbers = lines.dropFirst().map { UInt32($0.dropLast()) }
        return numbers.contains(nil) ? nil : Set(numbers.compactMap(\.self))
    }
}

public import OpsModel

/// One row of a listing: a job, or a task of an array, of this instance.
public struct JobRow: Hashable, Sendable {
    /// Number of the job; that of a task is `4711_3`.
    public var job: String
    /// Attempts of the task.
    public var batch: Batch
    public var user: UInt32
    public var state: JobState
    public var reason: String
    /// Wait status of the script, as wait(2) returns it.
    public var waitStatus: Int
    public var nodes: String
    /// Instant at which Slurm expects the start of a waiting job; nil: no estimate.
    public var expectedStart: WallInstant?

    public init(
        job: String, batch: Batch, user: UInt32, state: JobState, reason: String, waitStatus: Int, nodes: String,
        expectedStart: WallInstant? = nil
    ) {
        self.job = job
        self.batch = batch
        self.user = user
        self.state = state
        self.reason = reason
        self.waitStatus = waitStatus
        self.nodes = nodes
        self.expectedStart = expectedStart
    }

    /// True if several attempts run in the job, one after another.
    public var isShared: Bool { batch.attempts.count > 1 }

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

    /// State as text: `PENDING (Priority)`, `RUNNING on n1`.
    public var text: String {
        guard state.meaning == .pending else { return nodes.isEmpty ? state.name : "\(state.name) on \(nodes)" }
        return reason.isEmpty || reason == "None" ? state.name : "\(state.name) (\(reason))"
    }
}

/// Listing of all jobs of an instance, taken with one command.
public struct JobListing: Hashable, Sendable {
    public private(set) var rows: [JobRow] = []
    /// All attempts of each array of which a task is listed, by the number of the array.
    public private(set) var arrays: [String: Batch] = [:]
    /// Reason why a job may exist that is not among the rows, such as a line break in a field; nil: all jobs are.
    public private(set) var problem: String?

    /// Fields of a row, in this order. The comment is last, since its owner can put any text into it.
    private static let fields = [
        "JobArrayID", "UserID", "State", "Reason", "exit_code", "NodeList", "StartTime", "Comment",
    ]
    /// Most attempts that all comments of a listing may name, and most tasks for which rows are added. A user can write
    /// comments about any attempts, which must not fill the memory.
    private static let mostAttempts = 4_000_000
    private static let mostAddedTasks = 200_000
    /// Most characters of a text for people. A user can print anything in place of squeue.
    private static let longestText = 500
    private static let unreadableRow = "a row of its output cannot be read"
    private static let tooManyAttempts = "comments of jobs name too many operations"
    /// Environment of the command: instants are seconds since 1970.
    public static let environment = ["SLURM_TIME_FORMAT=%s"]

    /// Command that prints only the jobs of the user who runs it: another user could put whole rows into a comment.
    /// `--all`: also those in partitions that are hidden from this user. `-r`: each task of an array.
    public static func command(instance: String) -> [String] {
        [
            "squeue", "--me", "--all", "-r", "--name=\(JobComment.jobName(of: instance))", "-t", "all",
            "--Format=" + fields.map { "\($0):|" }.joined(separator: ","),
        ]
    }

    public init() {}

    /// Returns nil for `N/A`, which stands for no estimate.
    private static func instant(_ text: Substring) -> WallInstant? {
        guard let seconds = Int64(text), seconds > 0, seconds < .max / 1_000_000_000 else { return nil }
        return .zero + .seconds(seconds)
    }

    /// Parses the output of squeue. Returns nil without a line of headers for all fields, or if the last line is cut
    /// off: output that is lost says nothing about jobs, and squeue leaves fields empty that it does not know, and
    /// succeeds. Skips jobs with other comments. A row that cannot be read is a `problem`.
    public init?(_ output: String, instance: String) {
        let lines = output.split(separator: "\n")
        guard output.last == "\n", let header = lines.first, header.last == "|",
            header.split(separator: "|").count == Self.fields.count
        else { return nil }
        var comments: [Substring: JobComment] = [:]
        var named = 0
        var whole: [(row: JobRow, batch: Batch)] = []
        for line in lines.dropFirst() {
            let parts = line.split(
                separator: "|", maxSplits: Self.fields.count - 1, omittingEmptySubsequences: false)
            guard parts.count == Self.fields.count, parts[7].last == "|", let job = JobNumber(parts[0]),
                let user = UInt32(parts[1]), let status = Int(parts[4])
            else {
                problem = Self.unreadableRow
                continue
            }
            let text = parts[7].dropLast()
            guard let comment = comments[text] ?? JobComment(text), comment.instance == instance else { continue }
            if comments[text] == nil {
                guard named + comment.batch.attempts.count <= Self.mostAttempts else {
                    problem = Self.tooManyAttempts
                    continue
                }
                named += comment.batch.attempts.count
                comments[text] = comment
            }
            let state = JobState(parts[2].prefix(Self.longestText))
            var row = JobRow(
                job: String(parts[0]), batch: comment.batch, user: user, state: state,
                reason: String(parts[3].prefix(Self.longestText)), waitStatus: status,
                nodes: String(parts[5].prefix(Self.longestText)),
                expectedStart: state.meaning == .pending ? Self.instant(parts[6]) : nil)
            guard comment.batch.isArray else {
                if job.task == nil { rows.append(row) }
                continue
            }
            guard let task = job.task else {
                whole.append((row, comment.batch))
                continue
            }
            arrays[job.job] = comment.batch
            row.batch = comment.batch.part(task)
            if !row.batch.attempts.isEmpty { rows.append(row) }
        }
        addTasks(of: whole)
    }

    /// Adds rows for the tasks of arrays that ended before they were split: Slurm prints one row for all of these.
    private mutating func addTasks(of whole: [(row: JobRow, batch: Batch)]) {
        guard !whole.isEmpty else { return }
        let known = Set(rows.map(\.job))
        var added = 0
        for (row, batch) in whole where row.state.hasEnded {
            guard added + batch.taskCount <= Self.mostAddedTasks else { continue }
            added += batch.taskCount
            for task in 0..<batch.taskCount where !known.contains("\(row.job)_\(task)") {
                var part = row
                part.job = "\(row.job)_\(task)"
                part.batch = batch.part(task)
                rows.append(part)
            }
        }
    }

    /// Returns the rows of each attempt.
    public var byAttempt: [AttemptID: [JobRow]] {
        var found: [AttemptID: [JobRow]] = [:]
        for row in rows {
            for attempt in row.batch.attempts { found[attempt, default: []].append(row) }
        }
        return found
    }

    /// Returns whether a task of the array that a job is part of is listed, and the array has the attempt.
    public func showsArray(of job: String?, with attempt: AttemptID) -> Bool {
        guard let array = job.flatMap({ JobNumber($0)?.array }) else { return false }
        return arrays[array]?.task(of: attempt) != nil
    }
}

/// Number of a job, such as `4711`, or of a task of an array, such as `4711_3`.
public struct JobNumber: Hashable, Sendable {
    public let job: String
    public let task: Int?

    /// Most bytes of its text. Slurm's numbers have at most ten digits.
    private static let longestText = 40

    /// Returns nil for any other text.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= Self.longestText else { return nil }
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } })
        else {
            return nil
        }
        job = String(parts[0])
        task = parts.count == 2 ? Int(parts[1]) : nil
    }

    /// Number of the array that the task is part of; nil: it is a job of its own.
    public var array: String? { task == nil ? nil : job }
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

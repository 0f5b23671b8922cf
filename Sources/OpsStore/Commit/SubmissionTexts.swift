public import OpsCore

/// A submission with the texts that never enter the core. Equal texts are stored once.
public struct SubmissionTexts: Sendable {
    /// Texts that belong to one operation alone.
    public struct Particulars: Sendable {
        var name: String?
        /// Arguments as a JSON array; empty for a group.
        var command: String
        /// Offset in `details`.
        var details: Int32
        /// Offset in `environments`.
        var environment: Int32
        public init(name: String? = nil, command: String, details: Int32 = 0, environment: Int32 = 0) {
            self.name = name
            self.command = command
            self.details = details
            self.environment = environment
        }
    }
    /// Name of the graph, if the submission makes one.
    var graphName: String?
    var uid: UInt32 { submission.user }
    var gid: UInt32
    var user: String
    /// The idempotency key.
    var key: String?
    /// JSON objects: directory, umask, stdin, output, user, limits, observers, conditions, qos, labels ...
    var details: [String]
    /// JSON objects of strings.
    var environments: [String]
    /// Parallel to `submission.operations`.
    var particulars: [Particulars]
    public var submission: Submission
    /// Record of the schedule's instant whose run the submission is; it is stored in the same commit.
    public var scheduled: ScheduleWrite?
    /// Observers of the graph, if the submission makes one.
    public var observers: GraphObservers?

    public init(
        _ submission: Submission, graphName: String? = nil, gid: UInt32 = 0, user: String = "root",
        key: String? = nil, details: [String] = ["{}"], environments: [String] = ["{}"], particulars: [Particulars]
    ) {
        self.submission = submission
        self.graphName = graphName
        self.gid = gid
        self.user = user
        self.key = key
        self.details = details
        self.environments = environments
        self.particulars = particulars
    }
}

/// Texts and settings that a launch needs beyond those of the core.
public struct LaunchTexts: Equatable, Sendable {
    public var name: String?
    public var graph: GraphID
    public var queue: String
    /// JSON: argv, and the objects of `SubmissionTexts`.
    public var command: String
    public var details: String
    public var environment: String
    public var uid: UInt32
    public var gid: UInt32
    public var user: String
    /// True if the results of dependencies may have to be looked up.
    public var hasDependencies: Bool
    public init(
        name: String?, graph: GraphID, queue: String, command: String, details: String,
        environment: String, uid: UInt32, gid: UInt32, user: String, hasDependencies: Bool
    ) {
        self.name = name
        self.graph = graph
        self.queue = queue
        self.command = command
        self.details = details
        self.environment = environment
        self.uid = uid
        self.gid = gid
        self.user = user
        self.hasDependencies = hasDependencies
    }
}

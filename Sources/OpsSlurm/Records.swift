public import OpsModel
public import OpsSystem

/// Lines `name value`, the form of all records in the spool. Unknown names are skipped.
struct RecordText {
    private(set) var values: [String: String] = [:]

    init(_ bytes: [UInt8]) {
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            values[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
        }
    }

    func number<Number: FixedWidthInteger>(_ name: String) -> Number? { values[name].flatMap { Number($0) } }

    func time<Time: NanosecondCount>(_ name: String) -> Time? { number(name).map { Time(nanoseconds: $0) } }

    static func bytes(_ lines: [(name: String, value: String)]) -> [UInt8] {
        Array(lines.map { "\($0.name) \($0.value.filter { $0 != "\n" })\n" }.joined().utf8)
    }
}

/// First record of an attempt on a node. If it exists, a second start does not run the command.
public struct StartRecord: Hashable, Sendable {
    /// Exit status of a start that this record has refused. The end of that start is not the end of the attempt.
    public static let refusedStatus: Int32 = 75

    public var node: String
    public var job: String
    public var at: WallInstant

    public init(node: String, job: String, at: WallInstant) {
        self.node = node
        self.job = job
        self.at = at
    }

    public var bytes: [UInt8] { RecordText.bytes([("node", node), ("job", job), ("at", "\(at.nanoseconds)")]) }

    /// An incomplete record has the values that mean unknown. Its user may have written anything.
    public init(_ bytes: [UInt8]) {
        let text = RecordText(bytes)
        let job = text.values["job"] ?? ""
        self.init(
            node: text.values["node"] ?? "", job: JobNumber(job) == nil ? "" : job, at: text.time("at") ?? .zero)
    }
}

/// End of a command and its processes, as the node saw it.
public struct ExitRecord: Hashable, Sendable {
    public var status: ProcessExit.Status
    /// Reason why the command did not start, if it did not; `status` is then that which a shell returns.
    public var startFailure: SpawnError?
    public var usage: ProcessUsage
    public var at: WallInstant

    public init(status: ProcessExit.Status, usage: ProcessUsage = ProcessUsage(), at: WallInstant) {
        self.status = status
        self.usage = usage
        self.at = at
    }

    public var bytes: [UInt8] {
        let end =
            switch status {
            case .code(let code): (name: "code", value: "\(code)")
            case .signal(let number): (name: "signal", value: "\(number)")
            }
        var lines: [(name: String, value: String)] = [
            end, ("user", "\(usage.userMicroseconds)"), ("system", "\(usage.systemMicroseconds)"),
            ("memory", "\(usage.maxResidentBytes)"), ("at", "\(at.nanoseconds)"),
        ]
        // The text comes last: a reader takes only the beginning of a long record.
        if let startFailure { lines += [("errno", "\(startFailure.errno)"), ("step", startFailure.step)] }
        return RecordText.bytes(lines)
    }

    /// Returns nil for bytes that are no record.
    public init?(_ bytes: [UInt8]) {
        let text = RecordText(bytes)
        guard let at: WallInstant = text.time("at") else { return nil }
        if let code: Int32 = text.number("code") {
            self.init(status: .code(code), at: at)
        } else if let number: Int32 = text.number("signal") {
            self.init(status: .signal(number), at: at)
        } else {
            return nil
        }
        usage = ProcessUsage(
            userMicroseconds: text.number("user") ?? 0, systemMicroseconds: text.number("system") ?? 0,
            maxResidentBytes: text.number("memory") ?? 0)
        if let step = text.values["step"], let errno: Int32 = text.number("errno") {
            startFailure = SpawnError(step: step, errno: errno)
        }
    }
}

/// Progress of an attempt and its job, as the executor keeps it in the spool.
public struct JobRecord: Hashable, Sendable {
    /// True if a job may exist: set before the first submission.
    public var mayBeSubmitted = false
    /// Job that is kept; nil: none is known.
    public var job: String?
    /// True if the job may have started: set before the first release.
    public var isReleased = false
    /// True if other attempts run in the same job.
    public var isShared = false
    /// Number of the fence that the attempt passes at its start.
    public var fence = 0
    /// True while its processes are to be stopped, from their start on.
    public var isFrozen = false
    /// True until Slurm has taken the signal with which stopped processes go on.
    public var isResumeDue = false
    /// True since the first request to end the attempt.
    public var isTerminated = false
    /// Time between SIGTERM and SIGKILL.
    public var grace = TimeSpan.zero
    /// Slurm's message, if the attempt can never run.
    public var refusal: String?
    /// End that Slurm decided.
    public var end: End?

    public struct End: Hashable, Sendable {
        public var outcome: ExternalEnd.Outcome
        public var cause: String
        public var at: WallInstant
    }

    public init() {}

    public var bytes: [UInt8] {
        var lines: [(name: String, value: String)] = []
        if mayBeSubmitted { lines.append(("submitted", "")) }
        if let job { lines.append(("job", job)) }
        if isReleased { lines.append(("released", "")) }
        if isShared { lines.append(("shared", "")) }
        if fence > 0 { lines.append(("fence", "\(fence)")) }
        if isFrozen { lines.append(("frozen", "")) }
        if isResumeDue { lines.append(("resuming", "")) }
        if isTerminated { lines.append(("terminated", "")) }
        if grace > .zero { lines.append(("grace", "\(grace.nanoseconds)")) }
        if let refusal { lines.append(("refused", refusal)) }
        if let end {
            lines += [("outcome", "\(end.outcome.rawValue)"), ("cause", end.cause), ("at", "\(end.at.nanoseconds)")]
        }
        return RecordText.bytes(lines)
    }

    public init(_ bytes: [UInt8]) {
        let text = RecordText(bytes)
        mayBeSubmitted = text.values["submitted"] != nil
        job = text.values["job"]
        isReleased = text.values["released"] != nil
        isFrozen = text.values["frozen"] != nil
        isResumeDue = text.values["resuming"] != nil
        isTerminated = text.values["terminated"] != nil
        isShared = text.values["shared"] != nil
        fence = text.number("fence") ?? 0
        grace = text.time("grace") ?? .zero
        refusal = text.values["refused"]
        if let outcome = text.number("outcome").flatMap(ExternalEnd.Outcome.init(rawValue:)) {
            end = End(outcome: outcome, cause: text.values["cause"] ?? "", at: text.time("at") ?? .zero)
        }
    }
}

internal import OpsCore
internal import OpsExecutor
internal import OpsWire

/// Settings of an operation's process that the store keeps as text: labels, the user it runs as and the captured
/// surroundings come first, then the operation's own keys in the form of `OperationDetails`.
struct Details {
    var labels = StringMap()
    /// The user that `user` named at the submission; nil if it named none, or if an older opsd has stored the
    /// operation.
    var runUser: RunUser?
    /// Surroundings of the submitter, which the operation's own settings override.
    var captured = Captured()
    var own = OperationDetails()

    struct Captured: WireRecord {
        var directory = "/"
        var umask = 0o022
        mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
            try visitor.field("directory", &directory)
            try visitor.field("umask", &umask)
        }
    }

    /// A user as the submission found it: the account may have changed when the operation starts.
    struct RunUser: WireRecord, Equatable, Sendable {
        private(set) var name = ""
        private(set) var uid: UInt32 = 0
        private(set) var gid: UInt32 = 0

        init() {}
        init(name: String, uid: UInt32, gid: UInt32) {
            self.name = name
            self.uid = uid
            self.gid = gid
        }

        mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
            var (user, group) = (Int64(uid), Int64(gid))
            try visitor.field("name", &name)
            try visitor.field("uid", &user)
            try visitor.field("gid", &group)
            guard let uid = UInt32(exactly: user), let gid = UInt32(exactly: group) else {
                throw InvalidParameter("uid", "is not a user id")
            }
            (self.uid, self.gid) = (uid, gid)
        }
    }

    init() {}

    init(_ text: String) throws {
        let bytes = Array(text.utf8)
        var rest: ArraySlice<UInt8> = []
        try scan(bytes) { scanner throws(InvalidParameter) in
            do throws(JSONError) {
                try scanner.beginObject()
                while true {
                    let before = scanner.position
                    guard let key = try scanner.nextMember() else { return }
                    switch scanner.string(key) {
                    case "labels": labels = try Self.read("labels", &scanner)
                    case "runUser": runUser = try Self.read("runUser", &scanner)
                    case "captured": captured = try Self.read("captured", &scanner)
                    default:
                        // The comma before the part is removed: the rest is an object of its own.
                        let comma = bytes[before] == UInt8(ascii: ",") ? 1 : 0
                        rest = bytes[(before + comma)...]
                        return
                    }
                }
            } catch {
                throw InvalidParameter("details", "\(error)")
            }
        }
        if !rest.isEmpty { own = try OperationDetails(json: [UInt8(ascii: "{")] + rest) }
    }

    private static func read<Value: WireField>(
        _ name: String, _ scanner: inout JSONScanner
    ) throws(JSONError) -> Value {
        do throws(InvalidParameter) { return try Value(from: &scanner) } catch {
            throw scanner.error(.expected("a sound member \"\(name)\""))
        }
    }

    /// Returns the stored text of one operation: `own` and `labels` are JSON objects as a submission has them.
    static func text(
        own: some Collection<UInt8>, labels: some Collection<UInt8>, runUser: RunUser? = nil, captured: Captured
    ) -> String {
        var writer = JSONWriter(capacity: own.count + labels.count + captured.directory.utf8.count + 48)
        writer.beginObject()
        if labels.count > 2 {
            writer.key("labels")
            writer.raw(labels)
        }
        if let runUser {
            writer.key("runUser")
            runUser.write(to: &writer)
        }
        writer.key("captured")
        captured.write(to: &writer)
        var text = writer.bytes
        let members = own.dropFirst().dropLast()
        if !members.isEmpty {
            text.append(UInt8(ascii: ","))
            text += members
        }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }

    /// The captured surroundings without anything of the operation itself.
    var captureAlone: Details {
        var details = Details()
        details.captured = captured
        return details
    }

    // MARK: Settings of a process

    /// Directory of the process. A relative one starts at the directory of the submitter.
    var directory: String { own.directory.map(absolute) ?? captured.directory }
    var umask: UInt32 { UInt32(own.umask ?? Int32(clamping: captured.umask)) }
    var stdin: String? { own.stdin.map(absoluteInDirectory) }

    private func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : "\(captured.directory)/\(path)" }
    private func absoluteInDirectory(_ path: String) -> String { path.hasPrefix("/") ? path : "\(directory)/\(path)" }

    /// Returns the paths that the user named, as the runner opens them.
    func paths(_ stdout: String?, _ stderr: String?) -> (stdout: String, stderr: String) {
        let first = absoluteInDirectory(stdout ?? stderr ?? "/dev/null")
        return (stdout: first, stderr: stderr.map(absoluteInDirectory) ?? first)
    }

    /// Returns the commands of the operation for an occasion. `outcome`: that of the observed finish.
    func observers(_ occasion: ObserverRunner.Occasion, _ outcome: Outcome?) -> [[String]] {
        switch occasion {
        case .start: [own.observers.start].compactMap { $0 }
        case .produce: [own.observers.produce].compactMap { $0 }
        case .finish:
            [own.observers.finish, outcome?.isFailure == true ? own.observers.failed : nil].compactMap { $0 }
        case .graph: []
        }
    }

    /// Applies settings of the process. `scaled`: the value of a limit in this attempt.
    func apply(to request: inout LaunchRequest, scaled: (Int64, RetryScale.Key) -> Int64 = { value, _ in value }) {
        let limits = own.limits
        let memory = limits.memory.map { scaled($0, .memory) }
        let tasks = limits.tasks.map { scaled($0, .tasks) }
        let weight = limits.cpuWeight.map { scaled($0, .cpuWeight) }
        let quota = limits.cpuQuota.map { scaled($0, .cpuQuota) }
        request.priority = priority
        request.controlLimits = ControlLimits(
            memoryBytes: memory, tasks: tasks, cpuWeight: weight,
            cpuMicrosecondsPerSecond: quota.map { $0 * 10_000 })
        for (resource, key, first) in [
            (ResourceLimit.Resource.openFiles, RetryScale.Key.openFiles, limits.openFiles),
            (.fileSize, .fileSize, limits.fileSize), (.coreSize, .coreSize, limits.coreSize),
        ] {
            if let first {
                let value = scaled(first, key)
                request.resourceLimits.append(ResourceLimit(resource, soft: UInt64(value), hard: UInt64(value)))
            }
        }
    }

    private var priority: ProcessPriority {
        var priority =
            switch own.qos {
            // The kernel's own weight is 100.
            case .userInteractive: ProcessPriority(ioClass: .bestEffort, ioLevel: 0, cpuWeight: 400)
            case .userInitiated: ProcessPriority(ioClass: .bestEffort, ioLevel: 2, cpuWeight: 200)
            case .default: ProcessPriority()
            case .utility: ProcessPriority(nice: 5, ioClass: .bestEffort, ioLevel: 6, cpuWeight: 50)
            case .background: ProcessPriority(nice: 15, ioClass: .idle, cpuWeight: 10)
            }
        if let nice = own.limits.nice { priority.nice = nice }
        return priority
    }
}

extension OperationDetails.Output {
    /// Returns the reason why `Log` has nothing to read; nil if it has.
    func refusal(of id: OperationID, readingErrors wantsErrors: Bool) -> String? {
        switch self {
        case .log: wantsErrors ? "its standard error is in the same log; leave --stderr out" : nil
        case .split: nil
        case .journal: "its output goes to the journal: journalctl -t \(LaunchComposer.journalIdentifier(of: id))"
        case .null: "its output is not kept (output: null)"
        case .files(let stdout, let stderr): "its output goes to \(stdout ?? stderr ?? "files")"
        }
    }
}

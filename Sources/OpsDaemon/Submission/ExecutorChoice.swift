internal import OpsCore
internal import OpsWire

/// The executors that a submission may name, and those of its queues.
struct ExecutorChoice: Sendable {
    /// The executors of opsd.conf.
    private let configured: [ExecutorConfiguration]
    /// Executors of the queues that have one.
    private var ofQueues: [String: String] = [:]

    init(_ configuration: Configuration) {
        configured = configuration.executors
    }

    private var names: [String] { configured.map(\.name) }

    private func kind(of name: String) -> ExecutorConfiguration.Kind? { configured.first { $0.name == name }?.kind }

    /// Records the executor of a queue that operations of the submission are in.
    mutating func add(_ executor: String?, ofQueue queue: String) { ofQueues[queue] = executor }

    /// True if no queue of the submission has an executor.
    var isPlain: Bool { ofQueues.isEmpty }

    /// Keys that only some executors understand.
    struct Options: OptionSet {
        let rawValue: UInt8
        static let slurm = Options(rawValue: 1)
        static let http = Options(rawValue: 2)
        static let secrets = Options(rawValue: 4)
        static let journal = Options(rawValue: 8)
        /// Limits of all processes of an operation together.
        static let treeLimits = Options(rawValue: 16)
    }

    enum Chosen: Equatable {
        /// The runner.
        case local
        case named(String)
        /// No executor can run the operation: the key that prevents it, and the reason.
        case refused(key: String, String)
    }

    /// Returns the executor of an operation: its own, else that of its queue. `options`: of the operation.
    func choose(_ policy: Policy?, queue: String, _ options: Options) -> Chosen {
        let isTransfer = options.contains(.http)
        let ofQueue = isTransfer ? transferExecutor(ofQueue: queue) : ofQueues[queue]
        guard let name = policy?.executor ?? ofQueue, name != "local" else {
            if isTransfer { return .refused(key: "http", "needs an executor of kind transfer; \(known)") }
            return options.contains(.slurm)
                ? .refused(key: "slurm", "needs an executor of kind slurm; \(known)") : .local
        }
        guard let kind = kind(of: name) else {
            return .refused(
                key: "executor",
                "there is no executor \"\(name)\"\(Nearest.suggestion(for: name, among: names)); \(known)")
        }
        if isTransfer, kind != .transfer {
            return .refused(key: "http", "needs an executor of kind transfer; \(name) is of kind \(kind.rawValue)")
        }
        if !isTransfer, kind == .transfer {
            return .refused(key: "executor", "\(name) runs only transfers: give \"http\" instead of a command")
        }
        if options.contains(.slurm), kind != .slurm {
            return .refused(key: "slurm", "needs an executor of kind slurm; \(name) is of kind \(kind.rawValue)")
        }
        if policy?.completion == .notify {
            return .refused(
                key: "completion",
                "notify needs the executor local: messages of a process do not reach opsd from \(name)")
        }
        if let (key, reason) = Self.refusal(of: options, kind) {
            return .refused(key: key, "needs the executor local, not \(name): \(reason)")
        }
        return .named(name)
    }

    /// Returns the executor of transfers in a queue: the queue's own if that is of this kind, else the first one.
    private func transferExecutor(ofQueue queue: String) -> String? {
        if let name = ofQueues[queue], kind(of: name) == .transfer { return name }
        return configured.first { $0.kind == .transfer }?.name
    }

    /// Returns a key that works only on this machine, and the reason.
    private static func refusal(
        of options: Options, _ kind: ExecutorConfiguration.Kind
    ) -> (key: String, reason: String)? {
        if options.contains(.secrets) { return ("secrets", "only processes of this machine can have them") }
        if options.contains(.treeLimits) {
            let advice = kind == .slurm ? "; for a job, give \"memory\" and \"cpus\" in \"slurm\"" : ""
            return ("limits", "opsd limits memory, tasks and processors on this machine only\(advice)")
        }
        guard kind == .slurm, options.contains(.journal) else { return nil }
        return ("output", "only processes of this machine can write to its journal")
    }

    private var known: String {
        "the executors are " + (["local"] + names).joined(separator: ", ")
    }
}

extension ExecutorChoice.Options {
    init(_ details: OperationDetails) {
        self = details.slurm == nil ? [] : .slurm
        if details.http != nil { insert(.http) }
        if !details.secrets.isEmpty { insert(.secrets) }
        if details.output == .journal { insert(.journal) }
        let limits = details.limits
        if limits.memory != nil || limits.tasks != nil || limits.cpuWeight != nil || limits.cpuQuota != nil {
            insert(.treeLimits)
        }
    }
}

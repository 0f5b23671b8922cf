public import OpsModel

/// Request to the program on the node, about one of several attempts that share a job: Slurm signals the whole job.
public struct StepRequest: Hashable, Sendable {
    /// Time between SIGTERM and SIGKILL; nil: the command may run.
    public var grace: TimeSpan?
    public var isFrozen = false
    /// Signal to send once.
    public var signal: Int32?
    /// Instant that tells two signals apart.
    public var signalledAt = WallInstant.zero

    public init() {}

    /// The request that follows from the state of an attempt.
    public init(_ record: JobRecord) {
        grace = record.isTerminated ? record.grace : nil
        isFrozen = record.isFrozen
    }

    public var bytes: [UInt8] {
        var lines: [(name: String, value: String)] = []
        if let grace { lines.append(("terminate", "\(grace.nanoseconds)")) }
        if isFrozen { lines.append(("frozen", "")) }
        if let signal { lines += [("signal", "\(signal)"), ("at", "\(signalledAt.nanoseconds)")] }
        return RecordText.bytes(lines)
    }

    public init(_ bytes: [UInt8]) {
        let text = RecordText(bytes)
        grace = text.time("terminate")
        isFrozen = text.values["frozen"] != nil
        signal = text.number("signal")
        signalledAt = text.time("at") ?? .zero
    }
}

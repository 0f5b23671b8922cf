/// A process, identified for good: the kernel uses a pid again, but not with the same start.
public struct Process: Hashable, Sendable, Codable {
    public var pid: Int32
    /// Clock ticks since boot (`/proc/PID/stat`, field 22).
    public var startTicks: UInt64
    public var at: Moment
    public init(pid: Int32, startTicks: UInt64, at: Moment) {
        self.pid = pid
        self.startTicks = startTicks
        self.at = at
    }
}

/// The end of a main process, as its parent saw it.
public struct Exit: Hashable, Sendable, Codable {
    public enum Status: Hashable, Sendable, Codable {
        case code(Int32)
        case signal(Int32)
    }
    public var status: Status
    public var outOfMemory: Bool
    public var usage: Usage
    public var at: Moment
    /// Shortest time until the next attempt, in nanoseconds since `at`.
    public var retryAfter: Int64
    public init(
        status: Status, outOfMemory: Bool = false, usage: Usage = Usage(), at: Moment, retryAfter: Int64 = 0
    ) {
        self.status = status
        self.outOfMemory = outOfMemory
        self.usage = usage
        self.at = at
        self.retryAfter = retryAfter
    }
}

/// The end of an attempt as an engine reports it.
public struct ExternalEnd: Hashable, Sendable, Codable {
    public var outcome: Outcome
    /// Explanation by the engine.
    public var cause: String
    /// Nil if it is not known how the command ended.
    public var exit: Exit?
    public var at: Moment
    public init(outcome: Outcome, cause: String, exit: Exit? = nil, at: Moment) {
        self.outcome = outcome
        self.cause = cause
        self.exit = exit
        self.at = at
    }
}

public struct Usage: Hashable, Sendable, Codable {
    public var userMicroseconds: Int64
    public var systemMicroseconds: Int64
    public var maxResidentBytes: Int64
    public init(userMicroseconds: Int64 = 0, systemMicroseconds: Int64 = 0, maxResidentBytes: Int64 = 0) {
        self.userMicroseconds = userMicroseconds
        self.systemMicroseconds = systemMicroseconds
        self.maxResidentBytes = maxResidentBytes
    }
}

/// An update that a running operation sent through its notify socket.
public struct OperationUpdate: Hashable, Sendable, Codable {
    public var status: String?
    public var progressDone: Int64?
    public var progressTotal: Int64?
    public var result: String?
    public var finished: Int32?
    public var extendTimeout: Int64?
    /// The attempt has left something in its output directory.
    public var hasOutputs: Bool
    /// Wall instant at which an engine expects the start of its job; not stored.
    public var expectedStart: Int64?
    public init(
        status: String? = nil, progressDone: Int64? = nil, progressTotal: Int64? = nil, result: String? = nil,
        finished: Int32? = nil, extendTimeout: Int64? = nil, hasOutputs: Bool = false, expectedStart: Int64? = nil
    ) {
        self.status = status
        self.progressDone = progressDone
        self.progressTotal = progressTotal
        self.result = result
        self.finished = finished
        self.extendTimeout = extendTimeout
        self.hasOutputs = hasOutputs
        self.expectedStart = expectedStart
    }
}

/// State of a job as its engine calls it.
public struct EngineState: Hashable, Sendable, Codable {
    public var text: String
    /// Wall instant.
    public var expectedStart: Int64?
    public init(_ text: String, expectedStart: Int64? = nil) {
        self.text = text
        self.expectedStart = expectedStart
    }
}

/// The slot and the instant at which a runner started a staged launch.
public struct SlotStart: Hashable, Sendable, Codable {
    public var slot: Int32
    public var at: Moment
    public init(slot: Int32, at: Moment) {
        self.slot = slot
        self.at = at
    }
}

/// Values that a running operation has sent through its notify socket, or its engine has reported; `nil`: not sent.
public struct OperationUpdate: Hashable, Sendable, Codable {
    public var status: String?
    public var progressDone: Int64?
    public var progressTotal: Int64?
    public var result: String?
    /// Exit status with which the operation declares itself finished.
    public var finished: Int32?
    /// Extension of the timeout.
    public var extendTimeout: TimeSpan?
    /// True if the attempt has left something in its output directory.
    public var hasOutputs: Bool
    /// Instant at which the engine expects the start of its job. Sent with `status`; never stored.
    public var expectedStart: WallInstant?
    public init(
        status: String? = nil, progressDone: Int64? = nil, progressTotal: Int64? = nil, result: String? = nil,
        finished: Int32? = nil, extendTimeout: TimeSpan? = nil, hasOutputs: Bool = false,
        expectedStart: WallInstant? = nil
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

    public var isEmpty: Bool { self == OperationUpdate() }
}

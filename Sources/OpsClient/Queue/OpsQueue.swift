internal import OpsWire
internal import Synchronization

/// A queue of opsd, with the interface of Foundation's OperationQueue. Operations are processes; queue and operations
/// outlive this program.
public final class OpsQueue: Sendable {
    public let name: String
    private let session: OpsSession
    private let added = Mutex<[OpsOperation]>([])

    /// Opens a queue, and creates it if it does not exist. The socket is found as by opsctl.
    public init(_ name: String = "default", socket: String? = nil) throws(ClientError) {
        self.name = name
        session = OpsSession(path: SocketPath.find(socket))
        guard try row() == nil else { return }
        do throws(ClientError) {
            _ = try session.call(SetQueueRequest.with { ($0.name, $0.create) = (name, true) })
        } catch {
            // Another program may have created it at the same moment.
            guard try row() != nil else { throw error }
        }
    }

    private func row() throws(ClientError) -> QueueRow? {
        try session.call(ListQueuesRequest()).queues.first { $0.name == name }
    }

    // MARK: The queue of the daemon

    /// Maximum number of operations of the queue that execute at the same time, for all users together; nil for no
    /// limit besides the workers.
    public var maxConcurrentOperationCount: Int? {
        get throws(ClientError) { try row()?.limit }
    }

    public func setMaxConcurrentOperationCount(_ count: Int) throws(ClientError) {
        _ = try session.call(SetQueueRequest.with { ($0.name, $0.limit) = (name, count) })
    }

    public var isSuspended: Bool {
        get throws(ClientError) { try row()?.suspended ?? false }
    }

    /// Suspends the queue for all its users, so that nothing new starts, or resumes it.
    public func setSuspended(_ isSuspended: Bool) throws(ClientError) {
        let selection = Selection.with { $0.queue = name }
        if isSuspended {
            _ = try session.call(SuspendRequest.with { $0.selection = selection })
        } else {
            _ = try session.call(ResumeRequest.with { $0.selection = selection })
        }
    }

    // MARK: Operations of this program

    /// Operations that were added by this object and have not finished.
    public var operations: [OpsOperation] {
        added.withLock { added in
            added.removeAll(where: \.isFinished)
            return added
        }
    }

    public var operationCount: Int { operations.count }

    public func addOperation(_ operation: OpsOperation, key: String? = nil) throws(ClientError) {
        try addOperations([operation], key: key)
    }

    /// Adds operations together: all of them are stored, or none. The operations on which they depend must be among
    /// them, or have been added earlier.
    ///
    /// An idempotency key makes this safe to repeat: if the key was used before, nothing is stored, and the objects
    /// stand for the operations of that time. So a program that was killed can continue where it stopped.
    public func addOperations(
        _ operations: [OpsOperation], key: String? = nil, waitUntilFinished: Bool = false
    ) throws(ClientError) {
        guard !operations.isEmpty else { return }
        let names = Self.names(of: operations)
        let indices = Dictionary(
            operations.enumerated().map { (ObjectIdentifier($1), $0) }, uniquingKeysWith: { first, _ in first })
        var texts: [[UInt8]] = []
        for (index, operation) in operations.enumerated() {
            var keys = operation.keys
            keys.queue = name
            keys.name = names[index]
            if operation.isCancelled { keys.isHeld = true }
            for (dependency, when) in operation.withContent(\.dependencies) {
                let target: OpsOperationKeys.Dependency.Target
                if let id = dependency.id {
                    target = .id(id)
                } else if let other = indices[ObjectIdentifier(dependency)] {
                    target = .name(names[other])
                } else {
                    throw .refused(
                        .control(
                            .wrongState(
                                id: nil, message: "an operation depends on one that was not added; add both together")))
                }
                keys.after.append(.init(target: target, when: when))
            }
            texts.append(keys.json())
        }
        var submission = Submission(texts: texts)
        submission.terms.key = key
        submission.surroundings = .all
        let reply = try session.add(operations, submission)
        guard reply.count == operations.count else {
            throw .refused(
                .control(
                    .wrongState(
                        id: reply.first,
                        message: "the key \(key ?? "") belongs to \(reply.count) operations, not to \(operations.count)"
                    )))
        }
        added.withLock { $0 += operations }
        if reply.existing { try session.refresh(operations) }
        for operation in operations where operation.isCancelled && !operation.isFinished { try operation.cancel() }
        if waitUntilFinished { try wait(for: operations) }
    }

    /// Returns a name for each operation: its own, or else one that no other of them has.
    static func names(of operations: [OpsOperation]) -> [String] {
        let given = Set(operations.compactMap(\.name))
        return operations.enumerated().map { index, operation in
            if let name = operation.name { return name }
            var made = "operation\(index + 1)"
            while given.contains(made) { made += "_" }
            return made
        }
    }

    /// Adds an operation that starts when everything in the queue has finished, and before everything that is added
    /// later.
    public func addBarrier(_ operation: OpsOperation, key: String? = nil) throws(ClientError) {
        operation.keys.isBarrier = true
        try addOperation(operation, key: key)
    }

    /// Asks opsd to cancel the operations that were added by this object.
    public func cancelAllOperations() throws(ClientError) {
        let unfinished = operations
        for operation in unfinished { operation.withContent { $0.isCancelled = true } }
        for part in WaitRequest.parts(for: unfinished.compactMap(\.id)) {
            var selection = part.selection
            selection.state = "active"
            _ = try session.call(CancelRequest.with { $0.selection = selection })
        }
    }

    /// Waits until the operations that were added by this object have finished.
    public func waitUntilAllOperationsAreFinished() throws(ClientError) { try wait(for: operations) }

    private func wait(for operations: [OpsOperation]) throws(ClientError) {
        try session.wait(for: operations.compactMap(\.id))
        try session.refresh(operations)
    }
}

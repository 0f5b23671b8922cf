public import OpsWire
internal import Synchronization

/// A process that opsd runs when its dependencies, its queue and its priority allow. It outlives this program.
///
/// Properties that are set before the operation is added to a queue are stored with it. Afterwards, the properties show
/// the latest state that opsd has reported.
public final class OpsOperation: Sendable {
    /// State of an operation. It may go from `executing` back to `ready` when an attempt is repeated.
    public enum State: String, Sendable {
        /// Not added to a queue yet.
        case new
        case pending, ready, executing, finished
    }

    struct Content: Sendable {
        var keys: OpsOperationKeys
        var dependencies: [(operation: OpsOperation, when: EdgeCondition)] = []
        var id: Int64?
        var state = State.new
        var outcome: OutcomeName?
        var isCancelled = false
        var completion: (@Sendable () -> Void)?
        var readers: [Int: AsyncStream<State>.Continuation] = [:]
        var nextReader = 0
        weak var session: OpsSession?
    }

    private let content: Mutex<Content>

    /// Creates an operation that runs a command.
    public init(_ command: [String], name: String? = nil) {
        var keys = OpsOperationKeys(command: command)
        keys.name = name
        content = Mutex(Content(keys: keys))
    }

    /// Creates an operation that runs a line of `/bin/sh`.
    public convenience init(shell: String, name: String? = nil) {
        self.init(["/bin/sh", "-c", shell], name: name)
    }

    func withContent<Result: Sendable>(_ body: (inout Content) -> Result) -> Result {
        content.withLock { content in body(&content) }
    }

    // MARK: Before it is added

    /// Keys that are stored with the operation.
    public var keys: OpsOperationKeys {
        get { withContent { $0.keys } }
        set { withContent { $0.keys = newValue } }
    }

    public var name: String? { withContent { $0.keys.name } }

    public var queuePriority: OpsQueuePriority {
        get { withContent { OpsQueuePriority(rawValue: $0.keys.priority ?? 0) ?? .normal } }
        set { withContent { $0.keys.priority = newValue.rawValue } }
    }

    public var qualityOfService: OpsQualityOfService {
        get { withContent { $0.keys.qualityOfService ?? .default } }
        set { withContent { $0.keys.qualityOfService = newValue } }
    }

    /// Closure that is called once, on a thread of the library, when the operation finishes while this program runs.
    public var completionBlock: (@Sendable () -> Void)? {
        get { withContent { $0.completion } }
        set { withContent { $0.completion = newValue } }
    }

    /// Makes this operation wait for another one, of any queue. The default condition `finished` accepts every outcome,
    /// as for Foundation's Operation.
    public func addDependency(_ operation: OpsOperation, when: EdgeCondition = .finished) {
        withContent { $0.dependencies.append((operation, when)) }
    }

    public func removeDependency(_ operation: OpsOperation) {
        withContent { $0.dependencies.removeAll { $0.operation === operation } }
    }

    public var dependencies: [OpsOperation] { withContent { $0.dependencies.map(\.operation) } }

    // MARK: Afterwards

    /// Id of the operation; nil before it is added.
    public var id: Int64? { withContent { $0.id } }
    public var state: State { withContent { $0.state } }
    /// Outcome of the operation; nil before it has finished, or if it was removed before its outcome was read.
    public var outcome: OutcomeName? { withContent { $0.outcome } }
    public var isReady: Bool { state == .ready }
    public var isExecuting: Bool { state == .executing }
    public var isFinished: Bool { state == .finished }
    /// True if the operation has been asked to cancel, in any state.
    public var isCancelled: Bool { withContent { $0.isCancelled } }

    /// Asks opsd to cancel the operation. An operation that has not been added is cancelled when it is added.
    public func cancel() throws(ClientError) {
        let (id, session) = withContent { content in
            content.isCancelled = true
            return (content.id, content.session)
        }
        guard let id, let session else { return }
        // An operation that has finished meanwhile is no error.
        _ = try session.call(CancelRequest.with { ($0.selection.refs, $0.selection.state) = (["\(id)"], "active") })
    }

    /// Waits until the operation has finished, even if opsd restarts meanwhile.
    public func waitUntilFinished() throws(ClientError) {
        let (id, session) = withContent { ($0.id, $0.session) }
        guard let id, let session else { return }
        try session.wait(for: [id])
        try session.refresh([self])
    }

    /// The states of the operation, from the current one to `finished`.
    public var states: AsyncStream<State> {
        AsyncStream { continuation in
            let reader: Int? = withContent { content in
                continuation.yield(content.state)
                guard content.state != .finished else {
                    continuation.finish()
                    return nil
                }
                content.nextReader += 1
                content.readers[content.nextReader] = continuation
                return content.nextReader
            }
            guard let reader else { return }
            continuation.onTermination = { [weak self] _ in
                self?.withContent { _ = $0.readers.removeValue(forKey: reader) }
            }
        }
    }

    // MARK: For the session

    func added(as id: Int64, to session: OpsSession) {
        withContent { content in
            content.id = id
            content.session = session
            content.state = .pending
        }
    }

    /// Applies an update from opsd, and calls the completion block at the end.
    func update(state: StateName, outcome: OutcomeName?, isCancelled: Bool) {
        let known = State(rawValue: state.rawValue)
        typealias Readers = [AsyncStream<State>.Continuation]
        let (readers, completion): (Readers, (@Sendable () -> Void)?) = withContent { content in
            if isCancelled { content.isCancelled = true }
            guard let known, known != content.state, content.state != .finished else { return ([], nil) }
            content.state = known
            content.outcome = outcome
            let readers = Array(content.readers.values)
            guard known == .finished else { return (readers, nil) }
            content.readers = [:]
            defer { content.completion = nil }
            return (readers, content.completion)
        }
        for reader in readers {
            if let known { reader.yield(known) }
            if known == .finished { reader.finish() }
        }
        completion?()
    }
}

/// A call that was understood: one case for each method of `org.opsd.Control`.
public enum ControlRequest: Equatable, Sendable {
    case submit(SubmitRequest)
    case beginSubmission(BeginSubmissionRequest)
    case addOperations(AddOperationsRequest)
    case commitSubmission(CommitSubmissionRequest)
    case list(ListRequest)
    case show(ShowRequest)
    case why(WhyRequest)
    case status(StatusRequest)
    case log(LogRequest)
    case wait(WaitRequest)
    case watch(WatchRequest)
    case cancel(CancelRequest)
    case suspend(SuspendRequest)
    case resume(ResumeRequest)
    case retry(RetryRequest)
    case finish(FinishRequest)
    case note(NoteRequest)
    case set(SetRequest)
    case addDependency(AddDependencyRequest)
    case removeDependency(RemoveDependencyRequest)
    case listQueues(ListQueuesRequest)
    case setQueue(SetQueueRequest)
    case removeQueue(RemoveQueueRequest)
    case listCategories(ListCategoriesRequest)
    case setCategory(SetCategoryRequest)
    case graph(GraphRequest)
    case stats(StatsRequest)
    case prune(PruneRequest)
    case backup(BackupRequest)
    case check(CheckRequest)
    case setWorkers(SetWorkersRequest)
    case complete(CompleteRequest)

    /// All methods, by name.
    public static let methods: [any WireRequest.Type] = [
        SubmitRequest.self,
        BeginSubmissionRequest.self,
        AddOperationsRequest.self,
        CommitSubmissionRequest.self,
        ListRequest.self,
        ShowRequest.self,
        WhyRequest.self,
        StatusRequest.self,
        LogRequest.self,
        WaitRequest.self,
        WatchRequest.self,
        CancelRequest.self,
        SuspendRequest.self,
        ResumeRequest.self,
        RetryRequest.self,
        FinishRequest.self,
        NoteRequest.self,
        SetRequest.self,
        AddDependencyRequest.self,
        RemoveDependencyRequest.self,
        ListQueuesRequest.self,
        SetQueueRequest.self,
        RemoveQueueRequest.self,
        ListCategoriesRequest.self,
        SetCategoryRequest.self,
        GraphRequest.self,
        StatsRequest.self,
        PruneRequest.self,
        BackupRequest.self,
        CheckRequest.self,
        SetWorkersRequest.self,
        CompleteRequest.self,
    ]

    /// Reads a call to this interface; refuses methods and parameters that it does not have.
    public init(_ call: Call) throws(ServiceError) {
        guard call.interface == ControlInterface.name else { throw .interfaceNotFound(call.interface) }
        let request: ControlRequest?
        do throws(InvalidParameter) { request = try Self.read(call) } catch { throw .invalidParameter(error.parameter) }
        guard let request else { throw .methodNotFound(call.method) }
        if case .watch = request, !call.more { throw .expectedMore }
        self = request
    }

    private static func read(_ call: Call) throws(InvalidParameter) -> ControlRequest? {
        switch call.member {
        case SubmitRequest.method: .submit(try SubmitRequest(call))
        case BeginSubmissionRequest.method: .beginSubmission(try BeginSubmissionRequest(call))
        case AddOperationsRequest.method: .addOperations(try AddOperationsRequest(call))
        case CommitSubmissionRequest.method: .commitSubmission(try CommitSubmissionRequest(call))
        case ListRequest.method: .list(try ListRequest(call))
        case ShowRequest.method: .show(try ShowRequest(call))
        case WhyRequest.method: .why(try WhyRequest(call))
        case StatusRequest.method: .status(try StatusRequest(call))
        case LogRequest.method: .log(try LogRequest(call))
        case WaitRequest.method: .wait(try WaitRequest(call))
        case WatchRequest.method: .watch(try WatchRequest(call))
        case CancelRequest.method: .cancel(try CancelRequest(call))
        case SuspendRequest.method: .suspend(try SuspendRequest(call))
        case ResumeRequest.method: .resume(try ResumeRequest(call))
        case RetryRequest.method: .retry(try RetryRequest(call))
        case FinishRequest.method: .finish(try FinishRequest(call))
        case NoteRequest.method: .note(try NoteRequest(call))
        case SetRequest.method: .set(try SetRequest(call))
        case AddDependencyRequest.method: .addDependency(try AddDependencyRequest(call))
        case RemoveDependencyRequest.method: .removeDependency(try RemoveDependencyRequest(call))
        case ListQueuesRequest.method: .listQueues(try ListQueuesRequest(call))
        case SetQueueRequest.method: .setQueue(try SetQueueRequest(call))
        case RemoveQueueRequest.method: .removeQueue(try RemoveQueueRequest(call))
        case ListCategoriesRequest.method: .listCategories(try ListCategoriesRequest(call))
        case SetCategoryRequest.method: .setCategory(try SetCategoryRequest(call))
        case GraphRequest.method: .graph(try GraphRequest(call))
        case StatsRequest.method: .stats(try StatsRequest(call))
        case PruneRequest.method: .prune(try PruneRequest(call))
        case BackupRequest.method: .backup(try BackupRequest(call))
        case CheckRequest.method: .check(try CheckRequest(call))
        case SetWorkersRequest.method: .setWorkers(try SetWorkersRequest(call))
        case CompleteRequest.method: .complete(try CompleteRequest(call))
        default: nil
        }
    }
}

/// A valid call: one case for each method of `org.opsd.Control`.
public enum ControlRequest: Equatable, Sendable {
    case submit(SubmitRequest)
    case beginSubmission(BeginSubmissionRequest)
    case addOperations(AddOperationsRequest)
    case commitSubmission(CommitSubmissionRequest)
    case list(ListRequest)
    case show(ShowRequest)
    case listGraphs(ListGraphsRequest)
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
    case signal(SignalRequest)
    case note(NoteRequest)
    case set(SetRequest)
    case addDependency(AddDependencyRequest)
    case removeDependency(RemoveDependencyRequest)
    case listQueues(ListQueuesRequest)
    case setQueue(SetQueueRequest)
    case removeQueue(RemoveQueueRequest)
    case listExecutors(ListExecutorsRequest)
    case listCategories(ListCategoriesRequest)
    case setCategory(SetCategoryRequest)
    case graph(GraphRequest)
    case stats(StatsRequest)
    case prune(PruneRequest)
    case backup(BackupRequest)
    case check(CheckRequest)
    case setWorkers(SetWorkersRequest)
    case metrics(MetricsRequest)
    case complete(CompleteRequest)
    case addSchedule(AddScheduleRequest)
    case listSchedules(ListSchedulesRequest)
    case scheduleRuns(ScheduleRunsRequest)
    case runSchedule(RunScheduleRequest)
    case pauseSchedule(PauseScheduleRequest)
    case scheduleInstants(ScheduleInstantsRequest)
    case whySchedule(WhyScheduleRequest)
    case backfillSchedule(BackfillScheduleRequest)
    case forgetTrigger(ForgetTriggerRequest)
    case removeSchedule(RemoveScheduleRequest)

    /// Reads a call to this interface; unknown methods and parameters are refused.
    public init(_ call: Call) throws(ServiceError) {
        guard call.interface == ControlInterface.name else { throw .interfaceNotFound(call.interface) }
        let request: ControlRequest?
        do throws(InvalidParameter) {
            request = try Self.byName[call.member]?.read(call)
        } catch { throw .invalidParameter(error.parameter) }
        guard let request else { throw .methodNotFound(call.method) }
        if let parameter = request.negativeCount { throw .invalidParameter(parameter) }
        if case .watch = request, !call.more { throw .expectedMore }
        self = request
    }

    /// Name of a parameter that counts from 0 but is negative.
    private var negativeCount: String? {
        let counts: KeyValuePairs<String, Int64?> =
            switch self {
            case .list(let request): ["limit": request.limit.map { Int64($0) }]
            case .listGraphs(let request): ["limit": request.limit.map { Int64($0) }]
            case .log(let request): ["offset": request.offset, "lines": request.lines.map { Int64($0) }]
            case .watch(let request): ["since": request.since]
            case .scheduleRuns(let request): ["limit": request.limit.map { Int64($0) }]
            case .scheduleInstants(let request): ["limit": request.limit.map { Int64($0) }]
            default: [:]
            }
        return counts.first { ($0.value ?? 0) < 0 }?.key
    }
}

extension ControlRequest {
    /// A method: its request, and the case for it.
    struct Method: Sendable {
        let request: any WireRequest.Type
        fileprivate let read: @Sendable (Call) throws(InvalidParameter) -> ControlRequest

        fileprivate init<Request: WireRequest>(_ make: @escaping @Sendable (Request) -> ControlRequest) {
            request = Request.self
            read = { call throws(InvalidParameter) in make(try Request(call)) }
        }
    }

    /// Methods in the order of the interface file.
    static let methods = [
        Method(submit), Method(beginSubmission), Method(addOperations), Method(commitSubmission), Method(list),
        Method(show), Method(listGraphs), Method(why), Method(status), Method(log), Method(wait), Method(watch),
        Method(cancel),
        Method(suspend), Method(resume), Method(retry), Method(finish), Method(signal), Method(note), Method(set),
        Method(addDependency), Method(removeDependency), Method(listQueues), Method(setQueue),
        Method(removeQueue), Method(listExecutors), Method(listCategories), Method(setCategory), Method(graph),
        Method(stats),
        Method(prune), Method(backup), Method(check), Method(setWorkers), Method(metrics), Method(complete),
        Method(addSchedule), Method(listSchedules), Method(scheduleRuns), Method(runSchedule), Method(pauseSchedule),
        Method(scheduleInstants), Method(whySchedule), Method(backfillSchedule), Method(forgetTrigger),
        Method(removeSchedule),
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: methods.map { ($0.request.method, $0) })
}

internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// A message of a client, decoded.
private struct Incoming: Sendable {
    var call: Call
    /// The request; nil if the call is for the service that describes the interface.
    let request: Result<ControlRequest?, any Error>

    /// Decodes a message; throws if it is not a call. An invalid request is kept as an error, which becomes the answer.
    init(_ frame: [UInt8]) throws(JSONError) {
        let call = try Call(frame: frame)
        self.call = call
        request = Result {
            // A result would mean that the connection speaks another protocol from now on.
            if call.upgrade { throw ServiceError.invalidParameter("upgrade") }
            return call.interface == ServiceInterface.name ? nil : try ControlRequest(call)
        }
        // The request holds the parameters: a large message is not kept twice.
        if frame.count > DaemonLimits.bytesReadInTheLoop { self.call.parameters = [] }
    }
}

/// Decodes the calls of clients and answers them: one file for each group of verbs, one function for each verb.
///
/// A call that only reads waits for the end of the turn, when store and scheduler agree. One that changes something is
/// passed to the scheduler at once; if it needs data of the store, the turn is committed first.
final class Requests {
    let turns: Turns
    let store: Store
    let history: History
    let authorization: Authorization
    let runner: RunnerLink
    let executors: ExecutorLinks
    let schedules: Schedules
    let retention: Retention
    let publisher: Publisher
    let logs: Logs
    let fileWatch: FileWatch
    let loop: EventLoop
    let log: DaemonLog
    /// The present configuration.
    let configuration: () -> Configuration
    let statusReply: () throws(StoreError) -> StatusReply
    /// Starts the check of a submission.
    let builder: (GraphInput, SubmissionOptions, Caller) throws -> SubmissionBuilder
    /// Thread that parses large messages.
    let parsing: SideWork
    /// Thread that reads much of the database.
    private let reading: SideWork
    let userThreads: UserThreads
    private(set) lazy var queries = QueryQueue(
        loop: loop, log: log, history: history, path: store.path, fail: { [unowned self] in self.fail($0, $1) })
    private(set) lazy var schedulerQueries = SchedulerQueries(
        turns: turns, loop: loop, log: log, fail: { [unowned self] in self.fail($0, $1) })

    init(
        turns: Turns, store: Store, history: History, authorization: Authorization, runner: RunnerLink,
        executors: ExecutorLinks, schedules: Schedules, retention: Retention, publisher: Publisher, logs: Logs,
        fileWatch: FileWatch, loop: EventLoop, log: DaemonLog, configuration: @escaping () -> Configuration,
        statusReply: @escaping () throws(StoreError) -> StatusReply,
        builder: @escaping (GraphInput, SubmissionOptions, Caller) throws -> SubmissionBuilder
    ) {
        self.turns = turns
        self.store = store
        self.history = history
        self.authorization = authorization
        self.runner = runner
        self.executors = executors
        self.schedules = schedules
        self.retention = retention
        self.publisher = publisher
        self.logs = logs
        self.fileWatch = fileWatch
        self.loop = loop
        self.log = log
        self.configuration = configuration
        self.statusReply = statusReply
        self.builder = builder
        parsing = SideWork(loop: loop, log: log)
        reading = SideWork(loop: loop, log: log)
        userThreads = UserThreads(loop)
    }

    /// Lets the next turn answer queries again.
    func turnEnded() {
        queries.turnEnded()
        schedulerQueries.turnEnded()
    }

    /// Answers one message.
    func handle(_ frame: [UInt8], from connection: Connection) {
        let share = BufferShare(of: connection.user.budget, frame.count)
        guard frame.count > DaemonLimits.bytesReadInTheLoop else {
            return answer(Result { try Incoming(frame) }, share, to: connection)
        }
        connection.pauseReading(for: connection)
        parsing.run(
            { Result { try Incoming(frame) } },
            then: { [unowned self] incoming in
                guard !connection.isClosed else { return }
                connection.resumeReading(for: connection)
                self.answer(incoming, share, to: connection)
            })
    }

    private func answer(_ incoming: Result<Incoming, any Error>, _ share: BufferShare, to connection: Connection) {
        switch incoming {
        case .failure(let error):
            log.info("connection of \(connection.caller.name) closed: not a call: \(error)")
            connection.refuse(Reply.frame(ServiceError.invalidParameter("")))
        case .success(let incoming):
            let exchange = Exchange(incoming.call, share, connection)
            do {
                guard let request = try incoming.request.get() else { return try service(exchange) }
                try handle(request, exchange)
            } catch {
                fail(exchange, error)
            }
        }
    }

    /// Answers a call with an error, after earlier calls of the same client.
    func fail(_ exchange: Exchange, _ error: any Error) {
        turns.afterCommit { [unowned self] in self.answer(exchange, error) }
    }

    /// Sends an error as the interface defines it.
    private func answer(_ exchange: Exchange, _ error: any Error) {
        // A fault of the daemon, which must not end it for all clients.
        guard !exchange.isOver else {
            return log.error("\(exchange.call.method): failed after its answer: \(error)")
        }
        switch error {
        case let error as ControlError: exchange.fail(error)
        case let error as ServiceError: exchange.fail(error)
        case let error as QueryTooLong: exchange.fail(ControlError.busy(error.message))
        case let error as StoreError: exchange.fail(ControlError.storageUnavailable("\(error)"))
        case let error as Authorization.Refusal: exchange.fail(ControlError.permissionDenied(error.message))
        case let error as Rejection: exchange.fail(turns.translate(error))
        case let error as GraphRefusal: exchange.fail(error.error)
        case let error as Edits.Refusal:
            let message = "operation \(turns.label(error.id)) \(error.reason)"
            guard let key = error.key else {
                return exchange.fail(ControlError.wrongState(id: error.id.rawValue, message: message))
            }
            exchange.fail(invalid(key, message))
        default:
            log.error("\(exchange.call.method): \(error)")
            exchange.fail(ControlError.wrongState(id: nil, message: "\(error)"))
        }
    }

    /// Runs a read once this turn is on disk.
    private func read(_ exchange: Exchange, _ body: @escaping () throws -> Void) {
        turns.afterCommit { [unowned self] in
            if exchange.isAbandoned { return }
            do { try body() } catch { self.answer(exchange, error) }
        }
    }

    /// Runs a read whose answer may have several replies, once this turn is on disk. The next call of the client waits
    /// until that is known.
    private func readOn(_ exchange: Exchange, _ body: @escaping () throws -> Void) {
        exchange.pauseReading()
        read(exchange, body)
    }

    /// Queries the store, in the loop or outside it, then answers in the loop.
    func ask<Q: Query>(_ exchange: Exchange, _ query: Q, then answer: @escaping (Q.Answer) throws -> Void) {
        queries.ask(exchange, query, then: answer)
    }

    func rows(for reader: Caller) -> OperationRows {
        OperationRows(authorization: authorization, reader: reader, outputs: logs.outputs)
    }

    /// Translates a selection for the store; nil if it selects nothing at all.
    func resolve(
        _ selection: OpsWire.Selection?, _ exchange: Exchange, then body: @escaping (OpsStore.Selection?) throws -> Void
    ) throws {
        try turns.requireQueue(selection?.queue)
        try selection?.checkBounds()
        let caller = exchange.caller
        ask(exchange, SingleStep { try Selections($0, for: caller).query(selection) }, then: body)
    }

    /// Reads all of the database outside the loop, with its own connection and thread.
    func readBeside<Value: Sendable>(
        _ exchange: Exchange, _ body: @escaping @Sendable (History) throws -> Value,
        then answer: @escaping (Value) -> Void
    ) {
        let path = store.path
        reading.run(
            { Result { try body(History.open(path: path)) } },
            then: { [unowned self] result in
                if exchange.isAbandoned { return }
                switch result {
                case .success(let value): answer(value)
                case .failure(let error): self.fail(exchange, error)
                }
            })
    }

    /// Runs a change that first queries the store, which must contain everything that the scheduler knows.
    func change(_ exchange: Exchange, _ body: @escaping () throws -> Void) throws {
        if putOff(exchange, { [unowned self] in try self.change(exchange, body) }) { return }
        if turns.outage != nil { throw turns.unavailable }
        turns.commitBeforeReading()
        if putOff(exchange, { [unowned self] in try self.change(exchange, body) }) { return }
        if turns.outage != nil { throw turns.unavailable }
        try body()
    }

    /// Puts `body` off to the end of a long turn, if there is one, and returns true.
    func putOff(_ exchange: Exchange, _ body: @escaping () throws -> Void) -> Bool {
        turns.putOff(of: exchange) { [unowned self] in
            do { try body() } catch { self.fail(exchange, error) }
        }
    }

    private func handle(_ request: ControlRequest, _ exchange: Exchange) throws {
        switch request {
        case .submit(let request): try submit(request, exchange)
        case .beginSubmission(let request): try begin(request, exchange)
        case .addOperations(let request): try add(request, exchange)
        case .commitSubmission: try commit(exchange)
        case .list(let request): readOn(exchange) { try self.list(request, exchange) }
        case .show(let request): readOn(exchange) { try self.show(request, exchange) }
        case .listGraphs(let request): readOn(exchange) { self.listGraphs(request, exchange) }
        case .why(let request): readOn(exchange) { try self.why(request, exchange) }
        case .status: readOn(exchange) { try self.status(exchange) }
        case .log(let request): readOn(exchange) { try self.log(request, exchange) }
        case .wait(let request): readOn(exchange) { try self.wait(request, exchange) }
        case .watch(let request): readOn(exchange) { try self.watch(request, exchange) }
        case .listQueues: read(exchange) { try self.listQueues(exchange) }
        case .listExecutors: readOn(exchange) { try self.listExecutors(exchange) }
        case .listCategories: readOn(exchange) { try self.listCategories(exchange) }
        case .graph(let request): readOn(exchange) { try self.graph(request, exchange) }
        case .stats(let request): readOn(exchange) { try self.stats(request, exchange) }
        case .check: readOn(exchange) { try self.check(exchange) }
        case .complete(let request): readOn(exchange) { try self.complete(request, exchange) }
        case .metrics: try metrics(exchange)
        case .backup(let request): readOn(exchange) { try self.backup(request, exchange) }
        case .prune(let request): try change(exchange) { try self.prune(request, exchange) }
        case .cancel(let request): try change(exchange) { try self.cancel(request, exchange) }
        case .suspend(let request): try change(exchange) { try self.suspend(request, exchange) }
        case .resume(let request): try change(exchange) { try self.resume(request, exchange) }
        case .retry(let request): try change(exchange) { try self.retry(request, exchange) }
        case .finish(let request): try change(exchange) { try self.finish(request, exchange) }
        case .signal(let request): try change(exchange) { try self.signal(request, exchange) }
        case .note(let request): try change(exchange) { try self.note(request, exchange) }
        case .set(let request): try change(exchange) { try self.set(request, exchange) }
        case .addDependency(let request): try change(exchange) { try self.addDependency(request, exchange) }
        case .removeDependency(let request): try change(exchange) { try self.removeDependency(request, exchange) }
        case .setQueue(let request): try change(exchange) { try self.setQueue(request, exchange) }
        case .removeQueue(let request): try change(exchange) { try self.removeQueue(request, exchange) }
        case .setCategory(let request): try change(exchange) { try self.setCategory(request, exchange) }
        case .setWorkers(let request): try change(exchange) { try self.setWorkers(request, exchange) }
        case .addSchedule, .listSchedules, .scheduleRuns, .runSchedule, .pauseSchedule, .removeSchedule,
            .scheduleInstants, .whySchedule, .backfillSchedule, .forgetTrigger:
            try handleSchedule(request, exchange)
        }
    }

    private func handleSchedule(_ request: ControlRequest, _ exchange: Exchange) throws {
        if untilSchedulesAreLoaded(exchange, { [unowned self] in try handleSchedule(request, exchange) }) { return }
        switch request {
        case .listSchedules(let request): readOn(exchange) { try self.listSchedules(request, exchange) }
        case .scheduleRuns(let request): readOn(exchange) { try self.scheduleRuns(request, exchange) }
        case .addSchedule(let request): try change(exchange) { try self.addSchedule(request, exchange) }
        case .runSchedule(let request): try change(exchange) { try self.runSchedule(request, exchange) }
        case .pauseSchedule(let request): try change(exchange) { try self.pauseSchedule(request, exchange) }
        case .removeSchedule(let request): try change(exchange) { try self.removeSchedule(request, exchange) }
        case .scheduleInstants(let request): readOn(exchange) { try self.scheduleInstants(request, exchange) }
        case .whySchedule(let request): readOn(exchange) { try self.whySchedule(request, exchange) }
        case .forgetTrigger(let request): try change(exchange) { try self.forgetTrigger(request, exchange) }
        case .backfillSchedule(let request): try change(exchange) { try self.backfillSchedule(request, exchange) }
        case .submit, .beginSubmission, .addOperations, .commitSubmission, .list, .listGraphs, .show, .why, .status,
            .log, .wait, .watch, .cancel, .suspend, .resume, .retry, .finish, .signal, .note, .set, .addDependency,
            .removeDependency, .listQueues, .setQueue, .removeQueue, .listExecutors, .listCategories, .setCategory,
            .graph, .stats, .prune, .backup, .check, .setWorkers, .metrics, .complete:
            preconditionFailure("handle takes the other methods")
        }
    }

    /// Puts `body` off while schedules are being loaded, and returns true; the client's next call waits for it.
    func untilSchedulesAreLoaded(_ exchange: Exchange, _ body: @escaping () throws -> Void) -> Bool {
        let isPutOff = schedules.putOffUntilLoaded { [unowned self] in
            do { try body() } catch { self.fail(exchange, error) }
        }
        if isPutOff { exchange.pauseReading() }
        return isPutOff
    }

    // MARK: org.varlink.service

    private func service(_ exchange: Exchange) throws {
        switch exchange.call.member {
        case GetInfoRequest.method:
            let _: GetInfoRequest = try parameters(of: exchange.call)
            var info = GetInfoReply()
            info.version = Release.current.text
            info.url = "https://github.com/opsd/opsd"
            turns.afterCommit { exchange.reply(info) }
        case GetInterfaceDescriptionRequest.method:
            let request: GetInterfaceDescriptionRequest = try parameters(of: exchange.call)
            let reply = try request.answer()
            turns.afterCommit { exchange.reply(reply) }
        default: throw ServiceError.methodNotFound(exchange.call.method)
        }
    }

    private func parameters<Request: WireRequest>(of call: Call) throws(ServiceError) -> Request {
        do throws(InvalidParameter) { return try Request(call) } catch { throw .invalidParameter(error.parameter) }
    }
}

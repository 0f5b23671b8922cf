internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Makes the submission for scheduler and store of a decoded graph, and checks what only the daemon can check: queues,
/// references to existing operations, users, limits, and the rights of the caller.
///
/// It is made in the loop, which adds the answers of the store; `refreshFacts` and `build` may be called beside it. It is not
/// copied: that would count references to each table of the graph, for each submission.
struct SubmissionBuilder: ~Copyable, Sendable {
    private var input: GraphInput
    private let options: SubmissionOptions
    private let caller: Caller
    private let authorization: Authorization
    private let enforceable: EnforceableLimits
    private var problems: [Problem] = []
    private var submission = Submission()
    /// The operations that `externals` name, in order; nil for one that does not exist.
    private var targets: [OperationID?] = []
    /// Outcomes of the targets that had finished when they were looked up.
    private var finished: [OperationID: FinishedFact] = [:]
    /// Users by the names in `user`.
    private var runUsers: [String: Details.RunUser] = [:]
    private var executors: ExecutorChoice
    /// Results of the checks of `input.details`, in order.
    private var checked: [CheckedDetails] = []

    /// Result of the check of details, which are decoded one at a time: those of a large graph are not held as values.
    private struct CheckedDetails {
        var runUser: Details.RunUser?
        var options: ExecutorChoice.Options = []
        /// Limits that this machine cannot enforce, if the operations run on it.
        var beyondMachine: [(key: String, message: String)] = []
    }

    /// Milliseconds that each operation takes by itself, where the order of operations depends on it.
    var estimates: [Int64]?
    /// True for each of `submission.queues` in which operations start in the order of their longest paths.
    private var isRanked: [Bool] = []

    /// Looks up the queues and the producer of a graph in the scheduler.
    init(
        _ input: GraphInput, _ options: SubmissionOptions, _ caller: Caller, turns: Turns, authorization: Authorization,
        enforceable: EnforceableLimits, executors: ExecutorChoice
    ) throws {
        self.input = input
        self.options = options
        self.caller = caller
        self.authorization = authorization
        self.enforceable = enforceable
        self.executors = executors
        submission.user = caller.user
        try checkProducer(turns)
        addQueues(turns)
        isRanked = submission.queues.map { options.order == .longestPath || turns.order(ofQueue: $0) == .longestPath }
    }

    mutating func build() throws -> SubmissionTexts {
        submission.categorySets = input.categorySets.map(CategoryUse.strictest)
        submission.policies = input.policies
        submission.operations = input.operations.map(Self.draft)
        refuseReserved(in: input.environment, nil)
        try checkDetails()
        chooseExecutors()
        let observers = graphObservers()
        guard problems.isEmpty else { throw ControlError.invalidOperation(problems) }
        addEdges()
        if let estimates {
            let ranked = submission.operations.map { isRanked[Int($0.queue)] }
            submission.setLongestPaths(estimates) { ranked[$0] }
        }
        var texts = try texts()
        texts.observers = observers
        return texts
    }

    private mutating func graphObservers() -> GraphObservers? {
        guard let json = options.observers else { return nil }
        guard !submission.asChildren else {
            problem(nil, "observers", "operations that join a graph cannot give it observers")
            return nil
        }
        do throws(JSONError) {
            let commands = try GraphObserverCommands(json: json)
            guard commands.finish != nil || commands.failure != nil else { return nil }
            return GraphObservers(
                finish: GraphObserverCommands.text(commands.finish),
                failure: GraphObserverCommands.text(commands.failure))
        } catch {
            for found in error.all { problem(nil, found.path, found.reason.text) }
            return nil
        }
    }

    private static func draft(_ operation: GraphInput.Operation) -> Draft {
        Draft(
            group: operation.parent, queue: max(operation.queue, 0) + (operation.queue < 0 ? 0 : queueOffset),
            categories: operation.categories, policy: operation.policy, priority: operation.priority,
            flags: operation.flags)
    }

    // MARK: Queues

    /// Offset of the first named queue: `default` is at offset 0, for operations that name none.
    private static let queueOffset: Int32 = 1

    private mutating func addQueues(_ turns: Turns) {
        submission.queues = ["default"]
        for index in 0..<Int32(input.queues.count) where !hasAllProblems {
            let name = input.queues[index]
            submission.queues.append(name)
            if turns.hasQueue(name) {
                if let executor = turns.ask({ $0.executor(ofQueue: name) }) { executors.add(executor, ofQueue: name) }
                continue
            }
            let near = turns.nearestQueue(to: name).map { "; did you mean \"\($0)\"?" } ?? "; see opsctl queue ls"
            let first = input.operations.firstIndex { $0.queue == index }
            problem(first, "queue", "there is no queue \"\(name)\"\(near)")
        }
    }

    // MARK: Edges

    /// Returns the graph of which operations that become part of it may be named by their names alone.
    func joinedGraph(_ history: History) throws(StoreError) -> GraphID? {
        guard submission.asChildren, let producer = submission.producer else { return nil }
        return try history.graph(of: producer)
    }

    /// Adds the operations that were looked up.
    mutating func apply(_ answer: SubmissionQuery.Answer) {
        finished = answer.finished
        estimates = answer.estimates
        for (index, target) in answer.targets.enumerated() {
            switch target {
            case .success(let id): targets.append(id)
            case .failure(let error):
                targets.append(nil)
                reportUnknown(input.externals[index], index, error)
            }
        }
    }

    /// Looks up again how those targets have finished that the scheduler no longer holds: some may have finished
    /// meanwhile.
    mutating func refreshFacts(_ history: () throws -> History, contains: (OperationID) -> Bool) throws {
        let ended = targets.compactMap { $0 }.filter { !contains($0) }
        let unknown = ended.filter { finished[$0] == nil }
        if !unknown.isEmpty { finished.merge(try history().finishedFacts(unknown)) { $1 } }
        for id in ended { submission.finished[id] = finished[id] }
    }

    private mutating func addEdges() {
        submission.edges.reserveCapacity(input.edges.count)
        for edge in input.edges {
            switch edge.target {
            case .local(let index):
                submission.edges.append(DraftEdge(from: edge.from, on: .local(index), when: edge.when))
            case .external(let index):
                guard Int(index) < targets.count, let id = targets[Int(index)] else { continue }
                submission.edges.append(DraftEdge(from: edge.from, on: .existing(id), when: edge.when))
            }
        }
    }

    private mutating func reportUnknown(_ ref: String, _ index: Int, _ error: ControlError) {
        var near = ""
        if case .notFound(_, _, let nearest?) = error { near = "; did you mean \"\(nearest)\"?" }
        let first = input.edges.first { $0.target == .external(Int32(index)) }
        problem(first.map { Int($0.from) }, "after", "there is no operation \"\(ref)\"\(near)")
    }

    // MARK: Users and rights

    private mutating func checkProducer(_ turns: Turns) throws {
        guard let inside = options.inside else {
            if options.asChild {
                throw ControlError.invalidOperation([
                    .with {
                        $0.key = "child"
                        $0.message = "is only possible inside an operation"
                    }
                ])
            }
            return
        }
        let id = OperationID(inside)
        let owner = try turns.history.owner(of: id)
        // An operation that has finished or never existed produces nothing; as a parent it would be refused.
        guard turns.core?.state(of: id) == .executing else {
            if options.asChild { throw owner == nil ? Rejection.unknownOperation(id) : .producerClosed(id) }
            return
        }
        if let owner, !authorization.mayChange(caller, ownedBy: owner) {
            if options.asChild { try authorization.requireChange(caller, of: id, in: turns.history) }
            return
        }
        submission.producer = id
        submission.asChildren = options.asChild
    }

    /// Refuses users, limits and priorities that the caller may not use or this machine cannot provide.
    private mutating func checkDetails() throws {
        checked.reserveCapacity(input.details.count)
        for offset in 0..<Int32(input.details.count) where !hasAllProblems {
            let own = try OperationDetails(json: input.details.utf8(offset))
            let index = { [input] in input.operations.firstIndex { $0.details == offset } }
            try authorization.requireStanding(caller, priority: 0, nice: own.limits.nice.map(Int.init))
            var user: Details.RunUser?
            if let name = own.user {
                user = try findRunUser(name)
                if user == nil { problem(index(), "user", "there is no user \"\(name)\"") }
            }
            checked.append(
                CheckedDetails(
                    runUser: user, options: ExecutorChoice.Options(own),
                    beyondMachine: enforceable.problems(with: own.limits)))
            refuseReserved(in: own.environment, index())
            for secret in own.secrets {
                let uid = user?.uid ?? caller.user
                if ReservedVariables.contains(secret.name) {
                    problem(index(), "secrets.\(secret.name)", "opsd sets this variable itself")
                } else if let refusal = Credentials.refusal(of: secret, user: uid) {
                    problem(index(), "secrets.\(secret.name).credential", refusal)
                }
            }
            for (number, condition) in own.conditions.enumerated()
            where condition.test.timeout > Limits.evaluation {
                let most = DurationText.format(Limits.evaluation)
                problem(index(), "conditions[\(number)].timeout", "must be at most \(most); others wait for its answer")
            }
        }
        let highest = input.operations.map(\.priority).max() ?? 0
        try authorization.requireStanding(caller, priority: Int(highest), nice: nil)
    }

    /// Refuses the limits of details that this machine cannot enforce, once.
    private mutating func refuseLimits(of offset: Int, _ index: Int?) {
        for (key, message) in checked[offset].beyondMachine { problem(index, "limits.\(key)", message) }
        checked[offset].beyondMachine = []
    }

    /// Sets the executor of each operation: equal operations of two queues may have different ones.
    private mutating func chooseExecutors() {
        let isNamed = input.policies.contains { $0.executor != nil }
        let hasOptions = checked.contains { !$0.options.isEmpty }
        guard isNamed || hasOptions || !executors.isPlain else {
            for offset in checked.indices where !checked[offset].beyondMachine.isEmpty {
                refuseLimits(of: offset, input.operations.firstIndex { $0.details == offset })
            }
            return
        }
        var known: [ExecutorKey: Int32] = [:]
        // A graph may have as many policies as operations.
        var offsets: [Policy: Int32] = [:]
        for (offset, policy) in submission.policies.enumerated() { offsets[policy] = Int32(offset) }
        for (index, operation) in input.operations.enumerated()
        where !operation.flags.contains(.group) && !hasAllProblems {
            let key = ExecutorKey(policy: operation.policy, queue: operation.queue, details: operation.details)
            if let policy = known[key] {
                submission.operations[index].policy = policy < 0 ? nil : policy
                continue
            }
            let policy = operation.policy < 0 ? nil : input.policies[Int(operation.policy)]
            let queue = operation.queue < 0 ? "default" : input.queues[operation.queue]
            let options = operation.details < 0 ? [] : checked[Int(operation.details)].options
            var chosen = policy ?? Policy()
            switch executors.choose(policy, queue: queue, options) {
            case .local:
                chosen.executor = nil
                if operation.details >= 0 { refuseLimits(of: Int(operation.details), index) }
            case .named(let name): chosen.executor = name
            case .refused(let key, let reason): problem(index, key, reason)
            }
            let offset = offset(of: chosen, among: &offsets)
            known[key] = offset
            submission.operations[index].policy = offset < 0 ? nil : offset
        }
    }

    private struct ExecutorKey: Hashable {
        var policy: Int32
        var queue: Int32
        var details: Int32
    }

    /// Returns the offset of a policy among those of the submission; -1 for the default policy.
    private mutating func offset(of policy: Policy, among offsets: inout [Policy: Int32]) -> Int32 {
        if policy == Policy() { return -1 }
        if let offset = offsets[policy] { return offset }
        let offset = Int32(submission.policies.count)
        offsets[policy] = offset
        submission.policies.append(policy)
        return offset
    }

    /// Looks up each user once for a submission: its operations run as that user, even if the account changes.
    private mutating func findRunUser(_ name: String) throws -> Details.RunUser? {
        if let known = runUsers[name] { return known }
        let user = try authorization.runUser(caller, named: name, account: Account.named(name))
        if let user { runUsers[name] = user }
        return user
    }

    private mutating func refuseReserved(in environment: StringMap, _ index: @autoclosure () -> Int?) {
        for variable in environment.entries where ReservedVariables.contains(variable.name) {
            problem(index(), "environment.\(variable.name)", "is set by opsd; choose another name")
        }
    }

    private var hasAllProblems: Bool { problems.count >= Limits.problems }

    private mutating func problem(_ index: Int?, _ key: String, _ message: String) {
        if hasAllProblems { return }
        problems.append(
            .with {
                $0.index = index
                $0.name = index.flatMap { input.name(of: $0) }
                $0.key = key
                $0.message = message
            })
    }

    // MARK: Texts

    private mutating func texts() throws -> SubmissionTexts {
        let captured = Captured(options.capture, account: caller.account)
        var details: [String] = []
        var offsets: [UInt64: Int32] = [:]
        var particulars: [SubmissionTexts.Particulars] = []
        particulars.reserveCapacity(input.operations.count)
        for (index, operation) in input.operations.enumerated() {
            let pair =
                UInt64(UInt32(bitPattern: operation.details)) << 32 | UInt64(UInt32(bitPattern: operation.labels))
            let offset: Int32
            if let known = offsets[pair] {
                offset = known
            } else {
                offset = Int32(details.count)
                offsets[pair] = offset
                details.append(text(of: operation, captured.details))
            }
            particulars.append(
                SubmissionTexts.Particulars(
                    name: input.name(of: index),
                    command: operation.command < 0 ? "" : input.commands[operation.command], details: offset,
                    environment: 0))
        }
        return SubmissionTexts(
            submission, graphName: options.name, gid: caller.account?.gid ?? caller.group,
            user: caller.name, key: try options.key(of: input) ?? options.unlessActive, details: details,
            environments: [captured.environment(under: input.environment, and: options.variables)],
            particulars: particulars)
    }

    private func text(of operation: GraphInput.Operation, _ captured: Details.Captured) -> String {
        let none = Array("{}".utf8)[...]
        return Details.text(
            own: operation.details < 0 ? none : input.details.utf8(operation.details),
            labels: operation.labels < 0 ? none : input.labelSets.utf8(operation.labels),
            runUser: operation.details < 0 ? nil : checked[Int(operation.details)].runUser, captured: captured)
    }
}

extension Condition.Test {
    /// Time within which a condition has to be evaluated.
    fileprivate var timeout: TimeSpan {
        switch self {
        case .exec(_, let timeout): timeout
        case .not(let test): test.timeout
        default: .zero
        }
    }
}

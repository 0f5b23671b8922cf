internal import OpsCore

/// The ids that the core has assigned to a submission.
struct SubmissionRows {
    var graph: GraphID
    var isNew: Bool
    var first: OperationID
    var parent: OperationID?
    var producer: OperationID?
    var at: WallInstant

    func id(_ target: Int32) -> Int64 { first.rawValue + Int64(target) }
}

extension Store {
    func insert(
        _ texts: SubmissionTexts, _ states: [OperationState], at target: SubmissionRows
    ) throws(StoreError) {
        let submission = texts.submission
        precondition(
            texts.particulars.count == submission.operations.count && states.count == submission.operations.count,
            "every operation of a submission has its texts and its state")
        try insertSubmission(texts, target)
        if let observers = texts.observers, target.isNew { try insert(observers, of: target.graph) }
        if var write = texts.scheduled {
            write.instant.graph = target.graph.rawValue
            write.instant.at = target.at
            try put(write)
        }
        var rows = try SharedRows(texts, self)
        for index in submission.operations.indices {
            try insert(submission.operations[index], texts.particulars[index], states[index], index, &rows, target)
        }
        for edge in submission.edges {
            let from = OperationID(target.id(edge.from))
            switch edge.on {
            case .local(let on): try insertEdge(from, OperationID(target.id(on)), edge.when, crossing: false)
            case .existing(let on): try insertEdge(from, on, edge.when, crossing: true)
            }
        }
    }

    func insertEdge(
        _ id: OperationID, _ on: OperationID, _ when: EdgeCondition, crossing: Bool
    ) throws(StoreError) {
        let statement = statements.submission.insertEdge
        statement.bind(1, id.rawValue)
        statement.bind(2, on.rawValue)
        statement.bind(3, when.stored)
        statement.bind(4, crossing)
        try statement.run()
    }

    private func insertSubmission(_ texts: SubmissionTexts, _ target: SubmissionRows) throws(StoreError) {
        let statement = statements.submission.insertSubmission
        statement.bind(1, target.first.rawValue)
        statement.bind(2, texts.submission.operations.count)
        statement.bind(3, target.graph.rawValue)
        statement.bind(4, target.isNew)
        statement.bind(5, texts.graphName)
        statement.bind(6, texts.key)
        statement.bind(7, texts.uid)
        statement.bind(8, texts.gid)
        statement.bind(9, texts.user)
        statement.bind(10, target.producer?.rawValue)
        statement.bind(11, target.at)
        try statement.run()
    }

    private func insert(
        _ draft: Draft, _ particulars: SubmissionTexts.Particulars, _ state: OperationState, _ index: Int,
        _ rows: inout SharedRows, _ target: SubmissionRows
    ) throws(StoreError) {
        let statement = statements.submission.insertOperation
        statement.bind(1, target.id(Int32(index)))
        statement.bind(2, state.stored)
        statement.bind(3, draft.flags.stored)
        statement.bind(4, Int64(draft.priority))
        statement.bind(5, rows.queues[Int(draft.queue)])
        statement.bind(6, draft.categories.flatMap { rows.categorySets[Int($0)] })
        statement.bind(7, draft.policy.map { rows.policies[Int($0)] })
        statement.bind(8, draft.group.map { target.id($0) } ?? target.parent?.rawValue)
        statement.bind(9, state == .ready ? target.at : nil)
        statement.bind(10, particulars.name)
        statement.bind(11, try rows.row(ofCommand: particulars.command, self))
        statement.bind(12, rows.details[Int(particulars.details)])
        statement.bind(13, rows.environments[Int(particulars.environment)])
        statement.bind(14, draft.path?.milliseconds)
        statement.bind(15, rows.uid)
        try statement.run()
    }
}

/// The submitter and the rows that the operations of one submission share.
struct SharedRows {
    let uid: UInt32
    var queues: [Int64] = []
    var categorySets: [Int64?] = []
    var policies: [Int64] = []
    var details: [Int64] = []
    var environments: [Int64] = []
    private var commands: [ExactText: Int64] = [:]

    init(_ texts: SubmissionTexts, _ store: Store) throws(StoreError) {
        uid = texts.uid
        for name in texts.submission.queues { queues.append(try store.row(ofQueue: name)) }
        for uses in texts.submission.categorySets { categorySets.append(try store.row(of: uses)) }
        for policy in texts.submission.policies { policies.append(try store.row(of: policy)) }
        for text in texts.details { details.append(try store.row(ofDetails: text)) }
        for text in texts.environments { environments.append(try store.row(ofShared: text)) }
    }

    /// Returns the row of a command; nil for a group. Most submissions repeat a few commands often or none at all, so
    /// only the first commands are remembered.
    mutating func row(ofCommand command: String, _ store: Store) throws(StoreError) -> Int64? {
        if command.isEmpty { return nil }
        if let known = commands[ExactText(command)] { return known }
        let id = try store.insert(text: command)
        if commands.count < Interned.capacity { commands[ExactText(command)] = id }
        return id
    }
}

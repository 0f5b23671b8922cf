extension Scheduler {
    /// Accepts or refuses a submission as a whole.
    mutating func submit(_ submission: Submission) throws(Rejection) -> Acceptance {
        try submission.checkSizes()
        try checkRoom(for: submission.operations.count, of: submission.user)
        try checkEdgeRoom(for: submission.edges.count, of: submission.user)
        try checkCategoryRoom(for: submission.categorySets, of: submission.user)
        try checkOrigins(submission.queues.count, newOperations: submission.operations.count)
        let producer = try checkProducer(submission)
        let queueIndices = try registry.indices(ofQueues: submission.queues)
        try checkCategories(submission, under: submission.asChildren ? producer : nil)
        try checkEdges(submission)
        try checkCycles(submission, queueIndices)

        let parent = submission.asChildren ? producer : nil
        let isNewGraph = parent == nil
        let graphID = parent.map { GraphID(table[$0].graph) } ?? GraphID(output.nextGraph)
        let first = OperationID(output.nextOperation)

        if let parent, mayDeadlock(submission) { try checkDeadlock(submission, first, queueIndices, under: parent) }
        let operations = insertRows(submission, first: first, graph: graphID, queues: queueIndices, under: parent)
        let impossible = insertEdges(submission, operations)
        joinBarriers(operations)
        if isNewGraph { output.numberGraph() }
        output.numberOperations(operations.count)
        let states = setInitialStates(of: operations)
        record(
            .submitted(
                submission: scratch.numberSubmission(), graph: graphID, isNewGraph: isNewGraph, firstOperation: first,
                states: states,
                parent: parent == nil ? nil : submission.producer, producer: submission.producer))
        announce(operations, producer: submission.producer)
        raiseAll(operations)
        for operation in operations { enterLane(operation) }
        skip(impossible)
        return .submitted(graphID, first: first, count: operations.count)
    }

    private mutating func insertRows(
        _ submission: Submission, first: OperationID, graph graphID: GraphID, queues queueIndices: [QueueIndex],
        under parent: OperationIndex?
    ) -> [OperationIndex] {
        // Each is retained once until all rows are inserted, so that none is removed in between.
        var sets: [CategorySetIndex?] = []
        for set in submission.categorySets { sets.append(categories.retain(set)) }
        let owned = queueIndices.map { registry.partition(in: $0, of: submission.user) }
        var shared: [(index: PolicyIndex, traits: Traits)] = []
        for policy in submission.policies { shared.append((policies.retain(policy).index, Traits(policy))) }
        let graphTraits: Traits = registry.suspendedGraphs.contains(graphID.rawValue) ? [.graphSuspended] : []

        var operations: [OperationIndex] = []
        operations.reserveCapacity(submission.operations.count)
        table.reserve(submission.operations.count)
        for (i, draft) in submission.operations.enumerated() {
            let set = draft.categories.flatMap { sets[Int($0)] }
            let policy = draft.policy.map { shared[Int($0)] }
            categories.retain(set)
            if let policy { policies.retain(policy.index) }
            let partition = owned[Int(draft.queue)]
            if let partition { partitions.retain(partition) }
            let row = OperationRow(
                id: first.rawValue + Int64(i),
                origin: OperationOrigin(graph: graphID.rawValue, partition: partition),
                parent: draft.group.map { operations[Int($0)] } ?? parent, queue: queueIndices[Int(draft.queue)],
                categories: set, policy: policy?.index,
                traits: Traits(draft.flags).union(policy?.traits ?? []).union(graphTraits), priority: draft.priority,
                path: draft.path)
            let operation = table.insert(row)
            operations.append(operation)
            registry.count(.pending, 1, in: row.queue)
            registry.countWaiting(operation, 1)
            completeRow(of: operation)
        }
        for set in sets { categories.release(set) }
        for case let partition? in owned { partitions.release(partition) }
        for policy in shared { _ = policies.release(policy.index) }
        return operations
    }

    /// Completes a new row: the count of its categories, its group if it is a group, its entry in the group of its
    /// parent, its timers.
    mutating func completeRow(of operation: OperationIndex) {
        let row = table[operation]
        if row.categories != nil { registry.countCategories(of: operation, 1) }
        if row.isGroup {
            let limit = policy(of: operation)?.childLimit
            table[operation].group = groups.insert(Group(parent: operation, limit: limit))
        }
        if let parent = row.parent {
            addChild(operation, to: parent)
            inheritHold(operation, from: parent)
            if table[parent].state != .executing {
                table[operation].traits.insert(.groupNotStarted)
                table[operation].waiting += 1
            }
        }
        if row.policy != nil { armWallTimers(operation) }
    }

    private mutating func insertEdges(
        _ submission: Submission, _ operations: [OperationIndex]
    ) -> [ImpossibleEdge] {
        var impossible: [ImpossibleEdge] = []
        graph.reserve(submission.edges.count)
        for edge in submission.edges {
            let from = operations[Int(edge.from)]
            let on: OperationIndex
            switch edge.on {
            case .local(let index): on = operations[Int(index)]
            case .existing(let id):
                let existing = table.index(of: id)
                if let fact = fact(about: id, existing, submission.finished) {
                    if let skip = fact.impossibility(of: edge.when, on: id) {
                        impossible.append(ImpossibleEdge(from: from, skip: skip, fact: fact))
                    }
                    continue
                }
                guard let existing else { continue }
                on = existing
            }
            registry.addEdge(from: from, on: on, when: edge.when)
        }
        return impossible
    }

    /// Returns how an operation that edges name has finished: from this turn if it did, else from the caller.
    func fact(about id: OperationID, _ operation: OperationIndex?, _ facts: [OperationID: FinishedFact])
        -> FinishedFact?
    {
        guard let operation else {
            guard let fact = facts[id], fact.root != id, unfinished(fact.root) != nil else { return facts[id] }
            // The operation that caused the skip has returned since, so its earlier finish no longer counts.
            return FinishedFact(outcome: fact.outcome, root: id, hasStarted: fact.hasStarted)
        }
        guard let index = table[operation].finished else { return nil }
        return FinishedFact(scratch[index])
    }

    private mutating func setInitialStates(of operations: [OperationIndex]) -> [OperationState] {
        var states: [OperationState] = []
        states.reserveCapacity(operations.count)
        for operation in operations {
            guard table[operation].waiting == 0 else {
                states.append(.pending)
                continue
            }
            setState(operation, .ready)
            table[operation].readyAt = now.wall
            states.append(.ready)
        }
        return states
    }

    private mutating func announce(_ operations: [OperationIndex], producer: OperationID?) {
        output.reserveReports(operations.count)
        for operation in operations {
            publish(.submitted, operation, new: table[operation].state)
            if table[operation].state == .ready {
                publish(.ready, operation, new: .ready)
                startAging(operation)
            }
        }
        guard let producer, let maker = unfinished(producer) else { return }
        let isObserved = policy(of: maker)?.observers.contains(.produce) == true
        for operation in operations {
            let product = table[operation].operationID
            publish(.produced, maker, product: product)
            if isObserved { emit(.observeProduce(producer, product: product)) }
        }
    }
}

extension Traits {
    init(_ flags: Draft.Flags) {
        self = []
        if flags.contains(.group) { insert(.group) }
        if flags.contains(.barrier) { insert(.barrier) }
        if flags.contains(.held) { insert(.held) }
        if flags.contains(.provided) { insert(.provided) }
    }
}

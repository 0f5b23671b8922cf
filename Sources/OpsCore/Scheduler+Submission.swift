extension Scheduler {
    /// Takes a whole submission or nothing of it.
    mutating func submit(_ submission: Submission) throws(Rejection) -> Acceptance {
        try checkSizes(submission)
        try checkRoom(for: submission.operations.count, of: submission.user)
        try checkOrigins(submission.queues.count)
        let producer = try checkProducer(submission)
        let queuePlaces = try places(ofQueues: submission.queues)
        try checkCategories(submission, under: submission.asChildren ? producer : nil)
        try checkEdges(submission)
        try checkCycles(submission, queuePlaces)

        let parent = submission.asChildren ? producer : nil
        let isNewGraph = parent == nil
        let graphID = parent.map { GraphID(table[$0].graph) } ?? GraphID(output.nextGraph)
        let first = OperationID(output.nextOperation)

        if let parent, mayDeadlock(submission) { try checkDeadlock(submission, first, queuePlaces, under: parent) }
        let places = insertRows(submission, first, graphID, queuePlaces, parent)
        let impossible = insertEdges(submission, places)
        joinBarriers(places)
        if isNewGraph { output.numberGraph() }
        output.numberOperations(places.count)
        let states = settleStates(places)
        tell(
            .submitted(
                submission: scratch.numberSubmission(), graph: graphID, isNewGraph: isNewGraph, firstOperation: first,
                states: states,
                parent: parent == nil ? nil : submission.producer, producer: submission.producer))
        announce(places, producer: submission.producer)
        raiseAll(places)
        for place in places { enterLane(place) }
        for (place, cause, fact) in impossible {
            let below = Ended(outcome: .skipped, cause: .groupSkipped(table[place].operationID))
            decideTree(
                place, Ended(outcome: .skipped, cause: cause), below: below, root: fact.root,
                rootOutcome: fact.rootOutcome)
        }
        return .submitted(graphID, first: first, count: places.count)
    }

    private mutating func insertRows(
        _ submission: Submission, _ first: OperationID, _ graphID: GraphID, _ queuePlaces: [QueueIndex],
        _ parent: OperationIndex?
    ) -> [OperationIndex] {
        // One user each while they are dealt out, so that none is forgotten in between.
        var sets: [CategorySetIndex?] = []
        for set in submission.categorySets { sets.append(categories.retain(set)) }
        let owned = queuePlaces.map { partition(in: $0, of: submission.user) }
        var shared: [(index: PolicyIndex, traits: Traits)] = []
        for policy in submission.policies { shared.append((policies.retain(policy).index, Self.traits(of: policy))) }
        let graphTraits: Traits = registry.suspendedGraphs.contains(graphID.rawValue) ? [.graphSuspended] : []

        var places: [OperationIndex] = []
        places.reserveCapacity(submission.operations.count)
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
                parent: draft.group.map { places[Int($0)] } ?? parent, queue: queuePlaces[Int(draft.queue)],
                categories: set, policy: policy?.index,
                traits: Traits(draft.flags).union(policy?.traits ?? []).union(graphTraits), priority: draft.priority)
            let place = table.insert(row)
            places.append(place)
            registry.count(.pending, 1, in: row.queue)
            settleIn(place)
        }
        for set in sets { categories.release(set) }
        for case let partition? in owned { partitions.release(partition) }
        for policy in shared { _ = policies.release(policy.index) }
        return places
    }

    /// What a new row needs around it: its own family when it is a group, its place in its parent's, its clocks.
    mutating func settleIn(_ place: OperationIndex) {
        let row = table[place]
        if row.isGroup {
            let limit = policy(of: place)?.childLimit
            table[place].family = families.insert(Family(parent: place, limit: limit))
        }
        if let parent = row.parent {
            adopt(place, by: parent)
            if table[parent].state != .executing {
                table[place].traits.insert(.groupNotStarted)
                table[place].waiting += 1
            }
        }
        if row.policy != nil { armWallTimers(place) }
    }

    static func traits(of policy: Policy) -> Traits {
        var traits: Traits = []
        if !policy.conditions.isEmpty { traits.insert(.hasConditions) }
        if !policy.observers.isEmpty { traits.insert(.hasObservers) }
        return traits
    }

    private mutating func insertEdges(
        _ submission: Submission, _ places: [OperationIndex]
    ) -> [(OperationIndex, Cause, FinishedFact)] {
        var impossible: [(OperationIndex, Cause, FinishedFact)] = []
        graph.reserve(submission.edges.count)
        for edge in submission.edges {
            let from = places[Int(edge.from)]
            let on: OperationIndex
            switch edge.on {
            case .local(let index): on = places[Int(index)]
            case .existing(let id):
                let existing = table.index(of: id)
                if let fact = fact(about: id, existing, submission.finished) {
                    if let cause = Self.impossibility(edge.when, id, fact) { impossible.append((from, cause, fact)) }
                    continue
                }
                guard let existing else { continue }
                on = existing
            }
            addEdge(from: from, on: on, when: edge.when)
        }
        return impossible
    }

    /// Adds an edge on something unfinished, unless it is met already.
    @discardableResult
    mutating func addEdge(from: OperationIndex, on: OperationIndex, when: When) -> Bool {
        if when == .started {
            if table[on].traits.contains(.hasStarted) { return false }
            table[on].traits.insert(.startIsAwaited)
        }
        registry.graph.add(from: from, on: on, when: when, in: &registry.table)
        table[from].waiting += 1
        return true
    }

    /// How an operation that edges name has ended: as the core still knows, else as the caller says.
    func fact(about id: OperationID, _ place: OperationIndex?, _ facts: [OperationID: FinishedFact]) -> FinishedFact? {
        guard let place else {
            guard let fact = facts[id], fact.root != id, unfinished(fact.root) != nil else { return facts[id] }
            // What it was skipped for has come back since: how that ended says nothing any more.
            return FinishedFact(outcome: fact.outcome, root: id, hasStarted: fact.hasStarted)
        }
        guard let index = table[place].ending else { return nil }
        let ending = scratch[index]
        return FinishedFact(
            outcome: ending.outcome, root: ending.root, hasStarted: ending.hasStarted, rootOutcome: ending.rootOutcome)
    }

    /// Why an edge on something finished can never be met; nil when it is.
    static func impossibility(_ when: When, _ id: OperationID, _ fact: FinishedFact) -> Cause? {
        guard when.verdict(fact.outcome, hasStarted: fact.hasStarted) == .impossible else { return nil }
        return blame(when, id, root: fact.root, fact.rootOutcome)
    }

    /// What is to be said of an edge on something that has ended the wrong way: of what ended because of another, that
    /// one is the cause, and it may well have started.
    static func blame(_ when: When, _ id: OperationID, root: OperationID, _ outcome: Outcome) -> Cause {
        when == .started && root == id ? .neverStarted(root: root) : .dependency(root: root, outcome)
    }

    private mutating func settleStates(_ places: [OperationIndex]) -> [OperationState] {
        var states: [OperationState] = []
        states.reserveCapacity(places.count)
        for place in places {
            guard table[place].waiting == 0 else {
                states.append(.pending)
                continue
            }
            setState(place, .ready)
            table[place].readyAt = now.wall
            states.append(.ready)
        }
        return states
    }

    private mutating func announce(_ places: [OperationIndex], producer: OperationID?) {
        output.reserveReports(places.count)
        for place in places {
            report(.submitted, place, new: table[place].state)
            if table[place].state == .ready {
                report(.ready, place, new: .ready)
                startAging(place)
            }
        }
        guard let producer, let maker = unfinished(producer) else { return }
        let isObserved = policy(of: maker)?.observers.contains(.produce) == true
        for place in places {
            let product = table[place].operationID
            report(.produced, maker, product: product)
            if isObserved { order(.observeProduce(producer, product: product)) }
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

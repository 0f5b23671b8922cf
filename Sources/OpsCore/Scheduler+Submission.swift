extension Scheduler {
    /// Takes a whole submission or nothing of it.
    mutating func submit(_ submission: Submission) throws(Rejection) -> Acceptance {
        try checkSizes(submission)
        let producer = try checkProducer(submission)
        let queuePlaces = try places(ofQueues: submission.queues)
        try checkCategories(submission, under: submission.asChildren ? producer : nil)
        try checkEdges(submission)
        try checkCycles(submission, queuePlaces)

        let parent = submission.asChildren ? producer : nil
        let isNewGraph = parent == nil
        let graphID = parent.map { GraphID(table[$0].graph) } ?? GraphID(nextGraph)
        let first = OperationID(nextOperation)

        var impossible: [(Int32, Cause, FinishedFact)] = []
        let places = try unlessLockedUp(parent != nil && mayLockUp(submission)) { core throws(Rejection) in
            let places = core.insertRows(submission, first, graphID, queuePlaces, parent ?? -1)
            impossible = core.insertEdges(submission, places)
            core.joinBarriers(places)
            return places
        }
        if isNewGraph { nextGraph += 1 }
        nextOperation += Int64(places.count)
        let states = settleStates(places)
        tell(
            .submitted(
                submission: submissions, graph: graphID, isNewGraph: isNewGraph, firstOperation: first, states: states,
                parent: parent == nil ? nil : submission.producer, producer: submission.producer))
        submissions += 1
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

    /// Children that wait for something outside, or want a category, may close a circle with what is above them.
    private func mayLockUp(_ submission: Submission) -> Bool {
        let waits = submission.edges.contains { edge in if case .existing = edge.on { true } else { false } }
        let isBehind =
            submission.queues.contains { queues.find($0).map { !queues[$0].barriers.list.isEmpty } ?? false }
            || submission.operations.contains { $0.flags.contains(.barrier) }
        guard waits || isBehind || submission.operations.contains(where: { $0.categories >= 0 }) else { return false }
        let hasGroups = submission.operations.contains { $0.flags.contains(.group) && $0.categories >= 0 }
        return hasGroups || hasSpans
            || submission.producer.flatMap(unfinished).map { table[$0].categories >= 0 } ?? false
    }

    // MARK: Adding

    private mutating func insertRows(
        _ submission: Submission, _ first: OperationID, _ graphID: GraphID, _ queuePlaces: [Int32], _ parent: Int32
    ) -> [Int32] {
        // One user each while they are dealt out, so that none is forgotten in between.
        var sets: [Int32] = []
        for set in submission.categorySets { sets.append(categories.retain(set)) }
        var shared: [(place: Int32, traits: Traits)] = []
        for policy in submission.policies { shared.append((policies.retain(policy).place, Self.traits(of: policy))) }
        let graphTraits: Traits = suspendedGraphs.contains(graphID.rawValue) ? [.graphSuspended] : []

        var places: [Int32] = []
        places.reserveCapacity(submission.operations.count)
        table.reserve(submission.operations.count)
        for (i, draft) in submission.operations.enumerated() {
            let set = draft.categories < 0 ? -1 : sets[Int(draft.categories)]
            let policy = draft.policy < 0 ? (place: -1, traits: []) : shared[Int(draft.policy)]
            categories.retain(set)
            if policy.place >= 0 { policies.retain(policy.place) }
            let row = OperationRow(
                id: first.rawValue + Int64(i), graph: graphID.rawValue,
                parent: draft.group >= 0 ? places[Int(draft.group)] : parent, queue: queuePlaces[Int(draft.queue)],
                categories: set, policy: policy.place,
                traits: Traits(draft.flags).union(policy.traits).union(graphTraits), priority: draft.priority,
                effective: draft.priority)
            let place = table.insert(row)
            places.append(place)
            count(.pending, 1, row.queue)
            settleIn(place)
        }
        for set in sets { categories.release(set) }
        for policy in shared { _ = policies.release(policy.place) }
        return places
    }

    /// What a new row needs around it: its own family when it is a group, its place in its parent's, its clocks.
    mutating func settleIn(_ place: Int32) {
        let row = table[place]
        if row.isGroup {
            let limit = policy(of: place)?.childLimit
            table[place].family = families.insert(Family(parent: place, limit: limit))
        }
        if row.parent >= 0 {
            adopt(place, by: row.parent)
            if table[row.parent].state != .executing {
                table[place].traits.insert(.groupNotStarted)
                table[place].waiting += 1
            }
        }
        if row.policy >= 0 { armWallTimers(place) }
    }

    static func traits(of policy: Policy) -> Traits {
        var traits: Traits = []
        if !policy.conditions.isEmpty { traits.insert(.hasConditions) }
        if !policy.observers.isEmpty { traits.insert(.hasObservers) }
        return traits
    }

    private mutating func insertEdges(
        _ submission: Submission, _ places: [Int32]
    ) -> [(Int32, Cause, FinishedFact)] {
        var impossible: [(Int32, Cause, FinishedFact)] = []
        graph.reserve(submission.edges.count)
        for edge in submission.edges {
            let from = places[Int(edge.from)]
            let on: Int32
            switch edge.on {
            case .local(let index): on = places[Int(index)]
            case .existing(let id):
                on = table.place(of: id)
                if let fact = fact(about: id, on, submission.finished) {
                    if let cause = Self.impossibility(edge.when, id, fact) { impossible.append((from, cause, fact)) }
                    continue
                }
            }
            addEdge(from: from, on: on, when: edge.when)
        }
        return impossible
    }

    /// Adds an edge on something unfinished, unless it is met already.
    @discardableResult
    mutating func addEdge(from: Int32, on: Int32, when: When) -> Bool {
        if when == .started {
            if table[on].traits.contains(.hasStarted) { return false }
            table[on].traits.insert(.startIsAwaited)
        }
        graph.add(from: from, on: on, when: when, in: &table)
        table[from].waiting += 1
        return true
    }

    /// How an operation that edges name has ended: as the core still knows, else as the caller says.
    func fact(about id: OperationID, _ place: Int32, _ facts: [OperationID: FinishedFact]) -> FinishedFact? {
        guard place >= 0 else {
            guard let fact = facts[id], fact.root != id, unfinished(fact.root) != nil else { return facts[id] }
            // What it was skipped for has come back since: how that ended says nothing any more.
            return FinishedFact(outcome: fact.outcome, root: id, hasStarted: fact.hasStarted)
        }
        guard table[place].state == .finished else { return nil }
        let ending = endings[Int(table[place].place)]
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

    private mutating func settleStates(_ places: [Int32]) -> [OperationState] {
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

    private mutating func announce(_ places: [Int32], producer: OperationID?) {
        transition.reports.reserveCapacity(transition.reports.count + places.count)
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

    // MARK: Checking

    private func checkSizes(_ submission: Submission) throws(Rejection) {
        if submission.operations.count > Limits.operationsPerSubmission {
            throw .tooMany(what: "operations", limit: Limits.operationsPerSubmission)
        }
        if submission.edges.count > Limits.edgesPerSubmission {
            throw .tooMany(what: "edges", limit: Limits.edgesPerSubmission)
        }
        for set in submission.categorySets where set.count > Limits.categoriesPerOperation {
            throw .tooMany(what: "categories", limit: Limits.categoriesPerOperation)
        }
        for policy in submission.policies where policy.conditions.count > Limits.conditionsPerOperation {
            throw .tooMany(what: "conditions", limit: Limits.conditionsPerOperation)
        }
    }

    /// The producer's place. A child needs one that is executing and not about to end.
    private func checkProducer(_ submission: Submission) throws(Rejection) -> Int32? {
        guard let producer = submission.producer else { return nil }
        guard let place = unfinished(producer) else {
            if submission.asChildren { throw .producerClosed(producer) }
            return nil
        }
        guard submission.asChildren else { return place }
        guard table[place].state == .executing, !isClosing(place) else { throw .producerClosed(producer) }
        return place
    }

    /// Its end, or that of a group above it, is decided: nothing new begins below it.
    func isClosing(_ place: Int32) -> Bool {
        var next = place
        while next >= 0 {
            if table[next].traits.contains(.ending) { return true }
            if table[next].state == .executing, executions[table[next].place].isCancelling { return true }
            next = table[next].parent
        }
        return false
    }

    private func places(ofQueues names: [String]) throws(Rejection) -> [Int32] {
        var result: [Int32] = []
        for name in names {
            guard let queue = queues.find(name) else { throw .unknownQueue(name) }
            result.append(queue)
        }
        return result
    }

    private func checkEdges(_ submission: Submission) throws(Rejection) {
        for edge in submission.edges {
            guard case .existing(let id) = edge.on else { continue }
            let isKnown = table.place(of: id) >= 0 || submission.finished[id] != nil
            guard isKnown, id.rawValue < nextOperation else { throw .unknownOperation(id) }
        }
    }

    /// No set asks for more than there is, and no child for more than the group above it holds.
    private func checkCategories(_ submission: Submission, under parent: Int32?) throws(Rejection) {
        for set in submission.categorySets { try checkCapacity(CategoryUse.strictest(set)) }
        var depth: [Int32] = []
        let hasGroups = submission.operations.contains { $0.flags.contains(.group) }
        guard hasGroups || parent != nil else { return }
        let base: Int32 = parent.map { self.depth(of: $0) + 1 } ?? 0
        for draft in submission.operations {
            depth.append(draft.group >= 0 ? depth[Int(draft.group)] + 1 : base)
            if depth[depth.count - 1] > Limits.groupDepth {
                throw .tooMany(what: "groups in one another", limit: Limits.groupDepth)
            }
            guard draft.categories >= 0 else { continue }
            for use in CategoryUse.strictest(submission.categorySets[Int(draft.categories)]) {
                var above = draft.group
                var share: CategoryUse?
                while above >= 0, share == nil {
                    let group = submission.operations[Int(above)]
                    if group.categories >= 0 {
                        let set = CategoryUse.strictest(submission.categorySets[Int(group.categories)])
                        share = set.first { $0.name == use.name }
                    }
                    above = group.group
                }
                try check(use, fits: share ?? parent.flatMap { heldAbove($0, use.name) })
            }
        }
    }

    func checkCapacity(_ uses: [CategoryUse]) throws(Rejection) {
        for use in uses where use.mode == .units {
            let capacity = categories.capacity(of: use.name)
            if capacity > 0, use.units > capacity {
                throw .unitsExceedCapacity(category: use.name, units: use.units, capacity: capacity)
            }
        }
    }

    /// What the nearest of a parent and those above it takes of a category.
    func heldAbove(_ parent: Int32, _ name: String) -> CategoryUse? {
        var ancestor = parent
        while ancestor >= 0 {
            if let use = categories.uses(of: table[ancestor].categories).first(where: { $0.name == name }) {
                return use
            }
            ancestor = table[ancestor].parent
        }
        return nil
    }

    func check(_ use: CategoryUse, fits share: CategoryUse?) throws(Rejection) {
        guard let share else { return }
        switch share.mode {
        case .exclusive: return
        case .shared:
            // Sharing with outsiders leaves nothing that a child could have alone.
            if use.mode != .shared { throw .unitsExceedShare(use, of: share) }
        case .units:
            if use.mode == .units, use.units > share.units { throw .unitsExceedShare(use, of: share) }
        }
    }

    func depth(of place: Int32) -> Int32 {
        var depth: Int32 = 0
        var parent = table[place].parent
        while parent >= 0 {
            depth += 1
            parent = table[parent].parent
        }
        return depth
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

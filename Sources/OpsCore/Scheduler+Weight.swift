/// The weight of events, estimated before they are handled: the daemon handles heavy ones beside its loop.
extension Scheduler {
    /// Returns about how many operations an event decides or moves. Counting stops at `limit`: a result above it means
    /// only that there are more. No rule depends on the result, so an operation may be counted twice, or although the
    /// event does not change it.
    public func weight(of event: Event, upTo limit: Int) -> Int {
        let size = event.size
        // No event touches more operations than there are.
        guard size <= limit, table.count > limit else { return size }
        var walk = ConsequenceWalk(left: limit - size)
        follow(event, &walk)
        finish(&walk)
        return limit - walk.left
    }

    private func follow(_ event: Event, _ walk: inout ConsequenceWalk) {
        switch event {
        case .exited(let attempt, let exit, let treeIsGone):
            guard let index = registry.execution(of: attempt) else { return }
            end(
                index, executions[index].resolution ?? registry.resolution(of: index, exit, treeIsGone: treeIsGone),
                &walk)
        case .launchFailed(let attempt, let step, let errno):
            guard let index = registry.execution(of: attempt) else { return }
            let failed = Resolution(outcome: .failed, cause: .cannotStart(step: step, errno: errno))
            end(index, executions[index].resolution ?? failed, &walk)
        case .gone(let attempt):
            guard let index = registry.execution(of: attempt) else { return }
            let lost = Resolution(outcome: .interrupted, cause: .runnerLost)
            end(index, executions[index].resolution ?? registry.resolution(of: index, treeIsGone: true) ?? lost, &walk)
        case .updated(let attempt, let notice):
            guard let status = notice.finished, let index = registry.execution(of: attempt) else { return }
            end(index, registry.resolution(of: index, reported: status), &walk)
        case .finish(let id, let failed, let message, let by):
            guard let index = unfinished(id).flatMap({ table[$0].execution }) else { return }
            let cause = Cause.finishedBy(by, message: message)
            end(index, Resolution(outcome: failed ? .failed : .succeeded, cause: cause), &walk)
        case .runnerConnected(let inventory): follow(inventory, &walk)
        case .external(_, .runnerConnected(let inventory)): follow(entriesOf: inventory, &walk)
        case .external(_, let report): follow(report, &walk)
        case .refused(let attempt, let cause):
            guard let index = registry.execution(of: attempt) else { return }
            end(index, executions[index].resolution ?? Resolution(outcome: .failed, cause: .refused(cause)), &walk)
        case .ended(let attempt, let end):
            guard let index = registry.execution(of: attempt) else { return }
            let decided = Resolution(outcome: Outcome(end.outcome), cause: .engine(end.cause))
            self.end(index, executions[index].resolution ?? decided, &walk)
        case .conditionsAnswered(let id, _, .isFalse(let index, _)),
            .conditionsAnswered(let id, _, .isUnknown(let index, _)):
            if let operation = unfinished(id) {
                let list = policy(of: operation)?.conditions ?? []
                let succeeds = list.indices.contains(Int(index)) && list[Int(index)].otherwise == .succeed
                endTree(operation, succeeds ? .succeeded : .skipped, &walk)
            }
        case .cancel(let ids, _, _, let force):
            for operation in ids.lazy.compactMap(unfinished) {
                cancel(operation, force: force, &walk)
                if walk.isOver { return }
            }
        case .suspend(.operations(let ids), _), .resume(.operations(let ids)):
            for operation in ids.lazy.compactMap(unfinished) { countBelow(operation, &walk) }
        case .suspend(.graph(let graph), _), .resume(.graph(let graph)):
            for operation in table.indices where table[operation].graph == graph.rawValue {
                walk.left -= 1
                if walk.isOver { return }
            }
        case .suspend(.queue(let name), _), .resume(.queue(let name)):
            if let queue = queues.find(name) { walk.left -= queues[queue].parkedCount }
        case .addDependency(let id, let on, let when, let fact): followEdge(from: id, on: on, when: when, fact, &walk)
        case .submit(let submission): follow(submission, &walk)
        case .edit(let groups): follow(groups, &walk)
        case .retry(_, let revived):
            walk.left -= revived.edges.count
            // The barriers of all queues are counted again.
            for queue in queues.pool.indices { recount(queue, &walk) }
        case .setQueue(let name, let edit): follow(edit, of: name, &walk)
        case .removeDependency, .note, .removeQueue, .setCategory, .setWorkers, .setDraining, .setOperationsPerUser,
            .setObserversOfAll, .setExecutors, .accepted, .launched,
            .stagedStarted, .stagingRevoked, .revocationConfirmed, .runnerLost, .observed, .instantDecided, .tick,
            .suspend(.daemon, _),
            .resume(.daemon),
            .conditionsAnswered(_, _, .allTrue):
            break
        }
    }

    // MARK: Requests

    private func followEdge(
        from id: OperationID, on: OperationID, when: EdgeCondition, _ fact: FinishedFact?,
        _ walk: inout ConsequenceWalk
    ) {
        guard let from = unfinished(id) else { return }
        if let target = unfinished(on) {
            // The search for a cycle.
            countBefore([when == .started ? .start(target) : .end(target)], &walk)
        } else if let fact, fact.impossibility(of: when, on: on) != nil {
            endTree(from, .skipped, &walk)
        }
    }

    private func follow(_ submission: Submission, _ walk: inout ConsequenceWalk) {
        guard priorities.isUsed || submission.asChildren || submission.operations.contains(where: { $0.priority != 0 })
        else { return }
        var nodes: [WaitNode] = []
        for case .existing(let id) in submission.edges.lazy.map(\.on) {
            if let operation = unfinished(id) { nodes.append(.end(operation)) }
        }
        if submission.operations.contains(where: { $0.flags.contains(.barrier) }) || submission.asChildren {
            for name in submission.queues { if let queue = queues.find(name) { recount(queue, &walk) } }
        }
        let highest = submission.operations.map(\.priority).max()
        countBefore(nodes, &walk, raisedTo: submission.asChildren ? nil : highest)
    }

    private func follow(_ groups: [EditedTogether], _ walk: inout ConsequenceWalk) {
        for together in groups {
            let operations = together.operations.lazy.compactMap(unfinished)
            if let queue = together.edit.queue.flatMap(queues.find) {
                recount(queue, &walk)
                for old in Set(operations.map { table[$0].queue }) { recount(old, &walk) }
            }
            if together.edit.categories?.isEmpty == false || together.edit.queue != nil, registry.hasLongHolders {
                // A search for deadlocks follows.
                countBefore(operations.flatMap { [.start($0), .end($0)] }, &walk)
            }
            if let priority = together.edit.priority {
                countBefore(operations.map { .start($0) }, &walk, raisedTo: priority)
            }
        }
    }

    /// Counts the ready operations of a queue, if they age differently from now on or enter other lanes.
    private func follow(_ edit: QueueEdit, of name: String, _ walk: inout ConsequenceWalk) {
        guard let queue = queues.find(name) else { return }
        let changesFairness = edit.isFair.map { $0 != queues[queue].isFair } ?? false
        if edit.aging != .keep || changesFairness { walk.left -= Int(queues[queue].ready) }
    }

    /// Counts the operations of a queue that has barriers: all of them are counted again.
    private func recount(_ queue: QueueIndex, _ walk: inout ConsequenceWalk) {
        if registry.barriers.hasBarriers(in: queue) { walk.left -= queues[queue].unfinished }
    }

    private func cancel(_ operation: OperationIndex, force: Bool, _ walk: inout ConsequenceWalk) {
        guard table[operation].state == .executing else { return endTree(operation, .cancelled, &walk) }
        if force, !table[operation].isGroup { end(operation, .cancelled, &walk) }
        forEachChild(of: operation, &walk) { child, walk in cancel(child, force: force, &walk) }
    }

    private func countBelow(_ operation: OperationIndex, _ walk: inout ConsequenceWalk) {
        forEachChild(of: operation, &walk) { child, walk in countBelow(child, &walk) }
    }

    /// Counts everything that these events wait for, directly or not. `raisedTo`: only as far as the priorities are
    /// lower.
    private func countBefore(_ nodes: [WaitNode], _ walk: inout ConsequenceWalk, raisedTo priority: Int8? = nil) {
        var seen: Set<WaitNode> = []
        var open = nodes
        while !walk.isOver, let node = open.popLast() {
            guard seen.insert(node).inserted else { continue }
            walk.left -= 1
            let row = table[node.operation]
            if let priority, row.effective >= priority, row.group == nil { continue }
            if node.isEnd {
                forEachChild(of: node.operation, &walk) { child, _ in open.append(.end(child)) }
                if row.state != .executing { open.append(.start(node.operation)) }
                continue
            }
            guard row.state != .executing else { continue }
            if row.traits.contains(.gathering) { walk.left -= queues[row.queue].unfinished }
            if let barrier = registry.barriers.barrier(before: node.operation, in: table) { open.append(.end(barrier)) }
            if let parent = row.parent { open.append(.start(parent)) }
            for edge in graph.dependencies(of: row) {
                walk.left -= 1
                if walk.isOver { return }
                if let on = graph[edge].on { open.append(graph[edge].when == .started ? .start(on) : .end(on)) }
            }
        }
    }

    // MARK: Ends

    private func follow(_ inventory: Inventory, _ walk: inout ConsequenceWalk) {
        for index in executions.indices where !walk.isOver {
            guard executions[index].executor == nil else { continue }
            guard !table[executions[index].operation].isGroup, !executions[index].isOver else { continue }
            let lost = Resolution(outcome: .interrupted, cause: .runnerLost)
            let boot = executions[index].boot
            if !boot.isEmpty, boot != inventory.boot {
                end(index, executions[index].resolution ?? lost, &walk)
                continue
            }
            switch inventory.entries[registry.attemptID(index)] {
            case .running, .accepted, .refused, .ended: break
            case .exited(let exit):
                end(
                    index, executions[index].resolution ?? registry.resolution(of: index, exit, treeIsGone: false),
                    &walk)
            case .gone(let exit):
                end(
                    index,
                    executions[index].resolution ?? registry.resolution(of: index, exit, treeIsGone: true) ?? lost,
                    &walk)
            case .failed(let step, let errno):
                end(index, Resolution(outcome: .failed, cause: .cannotStart(step: step, errno: errno)), &walk)
            case nil:
                let hasBegun = executions[index].process != nil || executions[index].exit != nil
                if hasBegun, executions[index].runner == inventory.runner {
                    end(
                        index, executions[index].resolution ?? registry.resolution(of: index, treeIsGone: true) ?? lost,
                        &walk)
                }
            }
        }
    }

    private func follow(entriesOf inventory: Inventory, _ walk: inout ConsequenceWalk) {
        for (attempt, entry) in inventory.entries where !walk.isOver {
            switch entry {
            case .running, .accepted: break
            case .exited(let exit): follow(.exited(attempt, exit, treeIsGone: false), &walk)
            case .gone(let exit): follow(.exited(attempt, exit, treeIsGone: true), &walk)
            case .failed(let step, let errno): follow(.launchFailed(attempt, step: step, errno: errno), &walk)
            case .refused(let cause): follow(.refused(attempt, cause), &walk)
            case .ended(let end): follow(.ended(attempt, end), &walk)
            }
        }
    }

    /// Follows the end of an attempt, unless another attempt or unfinished children follow.
    private func end(_ index: ExecutionIndex, _ end: Resolution?, _ walk: inout ConsequenceWalk) {
        let operation = executions[index].operation
        guard let end, !table[operation].traits.contains(.finishPending), !mayRetry(operation, index, end) else {
            return
        }
        var outcome = end.outcome
        if let group = group(of: operation) {
            guard groups[group].unfinished == 0 else { return }
            if groups[group].unsuccessful > 0, outcome == .succeeded { outcome = .failed }
        }
        self.end(operation, outcome, &walk)
    }

    /// Returns the number of operations that a timer decides.
    func weight(of entry: Timers.Entry, upTo limit: Int) -> Int {
        guard entry.endsOperation, let operation = unfinished(OperationID(entry.id)) else { return 1 }
        var walk = ConsequenceWalk(left: limit)
        if table[operation].state == .executing {
            forEachChild(of: operation, &walk) { child, walk in cancel(child, force: false, &walk) }
        } else {
            endTree(operation, .timedOut, &walk)
        }
        finish(&walk)
        return limit - walk.left + 1
    }

    /// Returns the number of operations that the start of one releases.
    func weight(ofStart operation: OperationIndex, upTo limit: Int) -> Int {
        let row = table[operation]
        var count = row.isGroup ? row.group.map { groups[$0].children.count } ?? 0 : 0
        guard row.traits.contains(.startIsAwaited) else { return count }
        for _ in graph.dependents(of: row) {
            count += 1
            if count > limit { break }
        }
        return count
    }

    private func end(_ operation: OperationIndex, _ outcome: Outcome, _ walk: inout ConsequenceWalk) {
        walk.ends.append((operation, outcome))
    }

    /// Follows the end of a waiting operation and of everything below it.
    private func endTree(_ operation: OperationIndex, _ outcome: Outcome, _ walk: inout ConsequenceWalk) {
        guard !walk.isOver, table[operation].state != .executing, walk.ended.insert(operation).inserted else { return }
        walk.left -= 1
        walk.ends.append((operation, outcome))
        forEachChild(of: operation, &walk) { child, walk in endTree(child, .cancelled, &walk) }
    }

    private func forEachChild(
        of operation: OperationIndex, _ walk: inout ConsequenceWalk,
        _ body: (OperationIndex, inout ConsequenceWalk) -> Void
    ) {
        guard let group = group(of: operation) else { return }
        for id in groups[group].children {
            walk.left -= 1
            if walk.isOver { return }
            if let child = unfinished(OperationID(id)) { body(child, &walk) }
        }
    }

    /// Follows the ends to those that they cause.
    private func finish(_ walk: inout ConsequenceWalk) {
        while !walk.isOver, let (operation, outcome) = walk.ends.popLast() {
            let row = table[operation]
            let hasStarted = row.traits.contains(.hasStarted)
            for edge in graph.dependents(of: row) {
                walk.left -= 1
                if walk.isOver { return }
                let when = graph[edge].when
                if when.status(outcome, hasStarted: hasStarted) == .impossible {
                    endTree(graph[edge].from, when.skip(after: outcome), &walk)
                }
            }
            walk.left -= registry.barriers.weight(
                ofLeaving: operation, unfinished: queues[row.queue].unfinished, in: table)
            guard let parent = row.parent, let group = group(of: parent) else { continue }
            walk.endedBelow[group, default: 0] += 1
            guard walk.endedBelow[group] == groups[group].unfinished, table[parent].state == .executing else {
                continue
            }
            let isSound = !outcome.isUnsuccessful && groups[group].unsuccessful == 0
            walk.ends.append((parent, isSound ? .succeeded : .failed))
        }
    }
}

/// A bounded search for the consequences of an event.
struct ConsequenceWalk {
    /// Number of operations that may still be counted.
    var left: Int
    /// Ends whose consequences are still to be counted.
    var ends: [(OperationIndex, Outcome)] = []
    var ended: Set<OperationIndex> = []
    var endedBelow: [GroupIndex: Int32] = [:]

    var isOver: Bool { left < 0 }
}

extension Event {
    /// Number of operations that a request names.
    fileprivate var size: Int {
        switch self {
        // An edge is less work than an operation.
        case .submit(let submission): submission.operations.count + submission.edges.count / 4
        case .cancel(let ids, _, _, _): ids.count
        case .edit(let groups): groups.reduce(0) { $0 + $1.operations.count }
        case .suspend(.operations(let ids), _), .resume(.operations(let ids)): ids.count
        case .retry(_, let revived): revived.operations.count
        default: 0
        }
    }
}

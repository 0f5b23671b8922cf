public import OpsCore

extension FakeStore {
    /// Returns the snapshot for a scheduler that starts now.
    public func snapshot(boot: String = "boot1") -> Snapshot {
        var snapshot = Snapshot()
        snapshot.nextOperation = Int64(records.count) + 1
        snapshot.nextGraph = graphCount + 1
        snapshot.lastSequence = lastSequence
        snapshot.boot = boot
        snapshot.isSuspended = isSuspended
        snapshot.suspendedGraphs = suspendedGraphs.sorted()
        snapshot.queues = queues.map {
            var queue = Snapshot.Queue(
                name: $0.name, limit: $0.limit, aging: $0.aging, isSuspended: $0.isSuspended,
                order: $0.order)
            queue.executor = $0.executor
            queue.isFair = $0.isFair
            return queue
        }
        snapshot.slotTimes = slotTimes
        snapshot.categorySettings = categorySettings.values.sorted { $0.name < $1.name }
        snapshot.rateStarts = rateStarts.mapValues { $0.map { $0.boot == boot ? $0.at : .zero }.sorted() }
        for record in unfinished where record.state == .executing && !record.assigned.isEmpty {
            snapshot.assigned[record.id] = record.assigned
        }
        var table = RowTable(queues: queues.map(\.name))
        snapshot.operations = unfinished.map { table.row($0) }
        snapshot.categorySets = table.categorySets
        snapshot.policies = table.policies
        for record in unfinished {
            if let running = record.running ?? endingGroup(record) {
                snapshot.running.append(restated(running, record.resolution))
            }
            if let staged = record.staged {
                snapshot.staged.append(
                    Snapshot.StagedLaunch(
                        attempt: staged.attempt, runner: staged.runner, boot: staged.boot,
                        hasStarted: record.hasStarted))
            }
            for edge in record.edges where !edge.isSettled {
                if self[edge.on].isFinished {
                    guard isMissed(edge, by: record) else { continue }
                    snapshot.finished[edge.on] = fact(self[edge.on])
                }
                snapshot.edges.append(Snapshot.Edge(from: record.id, on: edge.on, when: edge.when))
            }
        }
        snapshot.endedChildren = endedChildren(below: unfinished.map(\.id)).filter { $0.unsuccessful > 0 }
        for record in records { snapshot.owedObservers += record.owedRuns.map { .init(record.id, run: $0) } }
        return snapshot
    }

    /// Returns true if a staged launch waits for the success of an operation that has finished without it.
    private func isMissed(_ edge: Record.Edge, by record: Record) -> Bool {
        record.staged != nil && edge.when == .succeeded && self[edge.on].outcome != .succeeded
    }

    /// A group has no attempt; a group that is ending or has a timeout gets attempt 0.
    private func endingGroup(_ record: Record) -> Record.Running? {
        guard record.isGroup, record.resolution != nil || record.state == .executing && record.policy.timeout != nil
        else { return nil }
        return Record.Running(
            attempt: AttemptID(record.id, 0), slot: nil, runner: "", boot: record.boot, startedAt: record.startedAt,
            timeoutRemaining: record.groupTimeout)
    }

    private func restated(_ running: Record.Running, _ resolution: Record.Resolution?) -> Snapshot.Running {
        var restated = Snapshot.Running(
            attempt: running.attempt, slot: running.slot, runner: running.runner, boot: running.boot,
            startedAt: running.startedAt, process: running.process, exit: running.exit,
            resolution: resolution.map { Resolution(outcome: $0.outcome, cause: $0.cause) },
            timeoutRemaining: running.timeoutRemaining)
        restated.isOver = running.isOver
        restated.job = running.job
        restated.isCancelled = resolution?.isCancelled ?? false
        return restated
    }

    /// Returns the children of these groups that did not succeed, except those that are about to be reopened.
    private func endedChildren(
        below parents: [OperationID], besides revived: Set<OperationID> = []
    ) -> [Snapshot.EndedChildren] {
        parents.map { parent in
            let failed = children(of: parent).filter {
                $0.outcome?.isUnsuccessful ?? false && !revived.contains($0.id)
            }
            let first = failed.min { $0.finishedAs < $1.finishedAs }
            return Snapshot.EndedChildren(
                parent: parent, unsuccessful: Int32(failed.count), firstUnsuccessful: first?.id ?? OperationID(0))
        }
    }

    /// Returns the finished operations that a retry of `ids` reopens.
    public func revival(of ids: [OperationID], downstream: Bool) -> Revival {
        let chosen = retried(ids, downstream: downstream)
        var revival = Revival()
        var table = RowTable(queues: [])
        revival.operations = chosen.sorted().map { table.row(self[$0]) }
        revival.queues = table.queues
        revival.categorySets = table.categorySets
        revival.policies = table.policies
        for id in chosen.sorted() {
            for edge in self[id].edges {
                revival.edges.append(Snapshot.Edge(from: id, on: edge.on, when: edge.when))
                if self[edge.on].isFinished, !chosen.contains(edge.on) {
                    revival.finished[edge.on] = fact(self[edge.on])
                }
            }
        }
        let parents = chosen.union(chosen.compactMap { self[$0].parent })
        revival.endedChildren = endedChildren(below: parents.sorted(), besides: chosen).filter {
            $0.unsuccessful > 0 || !chosen.contains($0.parent)
        }
        return revival
    }

    /// Returns `ids`, the operations that were skipped because of them, those after them if `downstream`, the groups
    /// that contain them, and the children of groups that did not succeed.
    private func retried(_ ids: [OperationID], downstream: Bool) -> Set<OperationID> {
        var chosen = Set(ids.filter { has($0) && self[$0].isFinished })
        var grew = true
        while grew {
            let before = chosen.count
            for record in records where record.isFinished && !chosen.contains(record.id) {
                let follows = record.edges.contains { chosen.contains($0.on) }
                let skipped = record.outcome == .skipped || record.outcome == .notNeeded
                let isBelow =
                    record.parent.map { chosen.contains($0) && record.outcome?.isUnsuccessful ?? false } ?? false
                let isAbove = children(of: record.id).contains { chosen.contains($0.id) }
                // Children of a skipped group have no edges of their own on the root of the skip.
                let isCascaded = skipped && chosen.contains(root(record))
                if (follows && (skipped || downstream)) || (isBelow && !isAbove) || isAbove || isCascaded {
                    chosen.insert(record.id)
                }
            }
            grew = chosen.count > before
        }
        return chosen
    }
}

/// Rows, with their shared queues, category sets and policies stored once.
private struct RowTable {
    var queues: [String]
    var categorySets: [[CategoryUse]] = []
    var policies: [Policy] = []

    init(queues: [String]) { self.queues = queues }

    mutating func row(_ record: Record) -> Snapshot.Row {
        Snapshot.Row(
            id: record.id, graph: record.graph, user: record.user, parent: record.parent ?? OperationID(0),
            queue: place(of: record.queue, in: &queues),
            categories: record.categories.isEmpty ? -1 : place(of: record.categories, in: &categorySets),
            policy: place(of: record.policy, in: &policies), priority: record.priority, state: record.state,
            flags: record.flags, frozenBy: record.frozenBy, attempt: record.attempt, run: record.run,
            attemptsInRun: record.attemptsInRun, hasStarted: record.hasStarted, submittedAt: record.submittedAt,
            readyAt: record.readyAt, notBefore: record.backoffUntil, path: record.path)
    }

    private func place<T: Equatable>(of element: T, in all: inout [T]) -> Int32 {
        if let place = all.firstIndex(of: element) { return Int32(place) }
        all.append(element)
        return Int32(all.count - 1)
    }
}

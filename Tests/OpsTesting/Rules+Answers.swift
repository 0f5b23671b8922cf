import OpsCore

/// An answer to a request, as far as the rows decide it.
enum ExpectedAnswer {
    case exactly(Result<Acceptance, Rejection>)
    /// If the request is not refused, this many operations change.
    case ifAccepted(Int)
    case cycle
    case any

    static func done(_ count: Int) -> Self { .exactly(.success(.done(count))) }
    static func refused(_ rejection: Rejection) -> Self { .exactly(.failure(rejection)) }

    func permits(_ answer: Result<Acceptance, Rejection>) -> Bool {
        switch self {
        case .exactly(let expected): return answer == expected
        case .ifAccepted(let count):
            if case .success(let acceptance) = answer { return acceptance == .done(count) }
            return true
        case .cycle:
            if case .failure(.cycle) = answer { return true }
            return false
        case .any: return true
        }
    }
}

/// Answers to requests that come first in their turn, while rows and core agree.
extension Rules {
    func answer(to event: Event) -> ExpectedAnswer {
        switch event {
        case .cancel(let ids, _, _, let force): answerToCancel(ids, force: force)
        case .suspend(let level, let freeze): freeze ? .any : answerToSuspend(level)
        case .resume(let level): answerToResume(level)
        case .retry(let ids, let revived): answerToRetry(ids, revived)
        case .finish(let id, _, _, _): answerToFinish(id)
        case .addDependency(let id, let on, let when, _): answerToEdge(from: id, on: on, when)
        case .removeDependency(let id, _, _): mistake(about: id).map { .refused($0) } ?? .done(1)
        case .setQueue(let name, let edit):
            name == "main" && edit.limit != .keep && edit.limit != .set(1) ? .refused(.builtInQueue(name)) : .done(1)
        case .removeQueue(let name): answerToRemoval(of: name)
        case .setCategory, .setWorkers: .done(1)
        case .setDraining, .tick: .done(0)
        default: .any
        }
    }

    private func missing(_ id: OperationID) -> Rejection? {
        if !store.has(id) { return .unknownOperation(id) }
        return store[id].isFinished ? .alreadyFinished(id) : nil
    }

    /// Returns the refusal of a request that is possible only while an operation waits.
    private func mistake(about id: OperationID) -> Rejection? {
        missing(id) ?? (store[id].state == .executing ? .alreadyStarted(id) : nil)
    }

    private func unfinished(_ ids: [OperationID]) -> [Record] {
        ids.filter { missing($0) == nil }.map { store[$0] }
    }

    private func answerToCancel(_ ids: [OperationID], force: Bool) -> ExpectedAnswer {
        if ids.count == 1, let missing = missing(ids[0]) { return .refused(missing) }
        let records = unfinished(ids)
        // The rows do not tell which processes of an attempt are left after its exit.
        let isPlain = records.allSatisfy {
            $0.isWaiting || force && !$0.isGroup || $0.resolution == nil && $0.running?.exit == nil
        }
        return isPlain ? .done(records.count) : .any
    }

    private func answerToSuspend(_ level: Level) -> ExpectedAnswer {
        switch level {
        case .daemon: return .done(store.isSuspended ? 0 : 1)
        case .queue(let name):
            guard let queue = store.queue(name) else { return .refused(.unknownQueue(name)) }
            return .done(queue.isSuspended ? 0 : 1)
        case .graph(let graph):
            guard 1...max(1, store.graphCount) ~= graph.rawValue, store.graphCount > 0 else {
                return .refused(.unknownGraph(graph))
            }
            return .done(store.suspendedGraphs.contains(graph) ? 0 : 1)
        case .operations(let ids):
            if ids.count == 1, let missing = missing(ids[0]) { return .refused(missing) }
            if let running = unfinished(ids).first(where: { $0.state == .executing && !$0.isGroup }) {
                return .refused(.needsFreeze(running.id))
            }
            return .done(selection(ids).count { ($0.isWaiting || $0.isGroup) && !$0.isHeld })
        }
    }

    private func answerToResume(_ level: Level) -> ExpectedAnswer {
        switch level {
        case .daemon: return .done((store.isSuspended ? 1 : 0) + processes(frozenBy: .daemon))
        case .queue(let name):
            guard let queue = store.queue(name) else { return .refused(.unknownQueue(name)) }
            return .done((queue.isSuspended ? 1 : 0) + processes(frozenBy: .queue) { $0.queue == name })
        case .graph(let graph):
            guard 1...max(1, store.graphCount) ~= graph.rawValue, store.graphCount > 0 else {
                return .refused(.unknownGraph(graph))
            }
            let isSuspended = store.suspendedGraphs.contains(graph)
            return .done((isSuspended ? 1 : 0) + processes(frozenBy: .graph) { $0.graph == graph })
        case .operations(let ids):
            if ids.count == 1, let missing = missing(ids[0]) { return .refused(missing) }
            let selected = selection(ids)
            // A frozen group counts only if it continues before the processes below it.
            if selected.contains(where: { $0.isGroup && $0.isFrozen }) { return .any }
            return .done(selected.count { $0.isHeld || $0.frozenBy.contains(.operation) })
        }
    }

    /// Returns the number of processes that a level has frozen.
    private func processes(
        frozenBy level: FreezingLevels, where matches: (Record) -> Bool = { _ in true }
    ) -> Int {
        store.unfinished.count { !$0.isGroup && $0.frozenBy.contains(level) && matches($0) }
    }

    /// Returns the unfinished operations that ids name, and all below them, each once.
    private func selection(_ ids: [OperationID]) -> [Record] {
        store.unfinished.filter { record in
            ids.contains(record.id) || store.ancestors(of: record).contains { ids.contains($0.id) && !$0.isFinished }
        }
    }

    private func answerToRetry(_ ids: [OperationID], _ revived: Revival) -> ExpectedAnswer {
        if ids.count == 1, store.has(ids[0]), !store[ids[0]].isFinished { return .refused(.notFinished(ids[0])) }
        return .ifAccepted(revived.operations.count)
    }

    private func answerToFinish(_ id: OperationID) -> ExpectedAnswer {
        if let missing = missing(id) { return .refused(missing) }
        let record = store[id]
        if record.isGroup { return .refused(.endsWithItsChildren(id)) }
        guard record.state == .executing else { return .refused(.notExecuting(id)) }
        if record.running?.isOver == true { return .refused(.ownPartEnded(id)) }
        guard record.policy.completion == .notify else { return .refused(.endsByItsExit(id)) }
        if record.resolution != nil { return .refused(.isEnding(id)) }
        return record.running?.exit == nil ? .done(1) : .any
    }

    private func answerToEdge(from id: OperationID, on: OperationID, _ when: EdgeCondition) -> ExpectedAnswer {
        if let mistake = mistake(about: id) { return .refused(mistake) }
        guard store.has(on) else { return .refused(.unknownOperation(on)) }
        if store[on].isFinished { return .done(1) }
        if store[id].edges.contains(where: { $0.on == on && $0.when == when && !isSatisfied($0) }) { return .done(0) }
        let target = Milestone(id: on, isEnd: when != .started)
        if allBefore(target).contains(Milestone(id: id, isEnd: false)) { return .cycle }
        // A category may close a deadlock.
        return store.unfinished.contains { !$0.categories.isEmpty } ? .any : .done(1)
    }

    private func allBefore(_ milestone: Milestone) -> Set<Milestone> {
        var seen: Set<Milestone> = [milestone]
        var open = [milestone]
        while let next = open.popLast() {
            for other in before(next) where seen.insert(other).inserted { open.append(other) }
        }
        return seen
    }

    private func answerToRemoval(of name: String) -> ExpectedAnswer {
        if name == "default" || name == "main" { return .refused(.builtInQueue(name)) }
        guard store.queue(name) != nil else { return .refused(.unknownQueue(name)) }
        let count = store.unfinished.count { $0.queue == name }
        return count > 0 ? .refused(.queueNotEmpty(name, unfinished: count)) : .done(1)
    }
}

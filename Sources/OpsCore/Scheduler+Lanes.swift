extension Scheduler {
    // MARK: Waiting and waking

    mutating func makeCandidate(_ lane: LaneIndex) {
        unpark(lane)
        lanes.makeCandidate(lane)
    }

    mutating func park(_ lane: LaneIndex, at resource: Resource) {
        lanes[lane].status = .parked(resource)
        let entry = lanes.newEntry(lane)
        let needsSlot = lanes[lane].key.needsSlot
        switch resource {
        case .queue(let queue):
            lanes.add(entry, to: &registry.queues[queue].parked[needsSlot: needsSlot])
            queues[queue].parkedCount += 1
        case .group(let group):
            lanes.add(entry, to: &registry.groups[group].parked[needsSlot: needsSlot])
            groups[group].parkedCount += 1
        case .category(let category):
            guard let need = lanes[lane].needs.first(where: { $0.category == category }) else { return }
            categories[category].parkedCount += 1
            let parked = categories[category].parked
            var position = parked.firstIndex { $0.mode == need.mode && $0.units == need.units } ?? parked.count
            if position == parked.count {
                forgetUnusedKinds(of: category)
                position = categories[category].parked.count
                categories[category].parked.append(Category.Parking(mode: need.mode, units: need.units))
            }
            lanes.add(entry, to: &registry.categories[category].parked[position].lanes[needsSlot: needsSlot])
        case .executor(let executor):
            lanes.add(entry, to: &executors[executor].parked)
            executors[executor].parkedCount += 1
        case .rate(let category):
            lanes.add(entry, to: &registry.categories[category].parkedAtRate[needsSlot: needsSlot])
            categories[category].parkedAtRateCount += 1
        case .reservations, .yielding:
            lanes.block(entry)
            // Meanwhile it reserves no position itself.
            reservations.requestReview()
        case .evaluations:
            guard let first = lanes[lane].members.first else { return }
            let user = evaluationUser(of: first.operation)
            conditions.enterLine(user)
            lanes.add(entry, to: &conditions.parked[user, default: LaneHeap()])
        }
    }

    /// Forgets kinds of needs with which no lane waits for a category, once they are the most part: each of them would
    /// be examined whenever the category has room again. Not inlined: it is seldom needed.
    @inline(never) private mutating func forgetUnusedKinds(of category: CategoryIndex) {
        guard categories[category].parked.count > 16 + 2 * categories[category].parkedCount else { return }
        let resource = Resource.category(category)
        var used: [Category.Parking] = []
        for var kind in categories[category].parked {
            let process = lanes.firstKey(of: &kind.lanes[needsSlot: true], at: resource)
            let slotless = lanes.firstKey(of: &kind.lanes[needsSlot: false], at: resource)
            if process != nil || slotless != nil { used.append(kind) }
        }
        categories[category].parked = used
    }

    mutating func unpark(_ lane: LaneIndex) {
        guard case .parked(let resource) = lanes[lane].status else { return }
        lanes[lane].status = .idle
        switch resource {
        case .queue(let queue): queues[queue].parkedCount -= 1
        case .group(let group): groups[group].parkedCount -= 1
        case .category(let category):
            categories[category].parkedCount -= 1
            // Kinds of needs would accumulate. A few of them are likely to be parked again.
            if categories[category].parkedCount == 0, categories[category].parked.count > 16 {
                categories[category].parked = []
            }
        case .executor(let executor): executors[executor].parkedCount -= 1
        case .rate(let category): categories[category].parkedAtRateCount -= 1
        // Lanes that are parked there are not counted.
        case .reservations, .yielding, .evaluations: break
        }
    }

    /// Makes the best lane that is parked at `resource`, and fits there, a candidate: there may be room. That lane
    /// wakes the next one after it was considered. So all that fit start in order, and no lane is examined needlessly.
    /// Without a free slot only lanes that need none are considered, so the best one of these is woken too.
    mutating func wake(_ resource: Resource) {
        if resource == .reservations || resource == .yielding {
            for entry in lanes.popAllBlocked() { makeCandidate(entry.lane) }
        }
        guard mayWake(resource) else { return }
        wake(popBest(at: resource, needsSlot: false), by: resource)
        wake(popBest(at: resource, needsSlot: true), by: resource)
    }

    private mutating func wake(_ lane: LaneIndex?, by resource: Resource) {
        guard let lane else { return }
        makeCandidate(lane)
        lanes[lane].wokenBy = resource
    }

    /// Returns whether lanes may be parked at a resource that has room. Inlined: a call would copy the scheduler.
    @inline(__always) private func mayWake(_ resource: Resource) -> Bool {
        switch resource {
        case .queue(let queue): queues[queue].parkedCount > 0 && queues[queue].hasRoom(forGroup: false)
        case .group(let group): groups[group].parkedCount > 0 && groups[group].hasRoom
        case .category(let category): categories[category].parkedCount > 0
        case .executor(let executor): executors[executor].parkedCount > 0 && executors[executor].hasRoom
        case .rate(let category):
            categories[category].parkedAtRateCount > 0 && categories[category].rate?.hasRoom(at: now) != false
        case .evaluations: true
        case .reservations, .yielding: false
        }
    }

    /// Not inlined: the optimizer of Swift 6.3 crashes on its callers.
    @inline(never) private mutating func popBest(at resource: Resource, needsSlot: Bool) -> LaneIndex? {
        switch resource {
        case .queue(let queue):
            lanes.popBest(from: &registry.queues[queue].parked[needsSlot: needsSlot], at: resource)
        case .group(let group):
            lanes.popBest(from: &registry.groups[group].parked[needsSlot: needsSlot], at: resource)
        case .category(let category): popBestFitting(category, needsSlot: needsSlot)
        case .executor(let executor):
            needsSlot ? nil : lanes.popBest(from: &executors[executor].parked, at: resource)
        case .rate(let category):
            lanes.popBest(from: &registry.categories[category].parkedAtRate[needsSlot: needsSlot], at: resource)
        case .evaluations: needsSlot ? popNextEvaluation() : nil
        case .reservations, .yielding: nil
        }
    }

    /// Wakes every lane that waits for room in a queue, also lanes of groups.
    mutating func wakeAll(_ queue: QueueIndex) { wakeAll(at: .queue(queue)) }

    /// Wakes every lane that waits for the rate of a category: the rate has changed.
    mutating func wakeAllAtRate(_ category: CategoryIndex) { wakeAll(at: .rate(category)) }

    private mutating func wakeAll(at resource: Resource) {
        while let lane = popBest(at: resource, needsSlot: true) { makeCandidate(lane) }
        while let lane = popBest(at: resource, needsSlot: false) { makeCandidate(lane) }
    }

    private mutating func popBestFitting(_ category: CategoryIndex, needsSlot: Bool) -> LaneIndex? {
        let resource = Resource.category(category)
        var best: Int?
        var bestKey = UInt64.max
        for i in categories[category].parked.indices {
            let (mode, units) = (categories[category].parked[i].mode, categories[category].parked[i].units)
            guard categories[category].room.fits(mode, units),
                let key = lanes.firstKey(
                    of: &registry.categories[category].parked[i].lanes[needsSlot: needsSlot], at: resource),
                key < bestKey
            else { continue }
            // All that come after a reserved position would only be parked here again.
            let need = Need(category: category, mode: mode, units: units)
            if reserver(of: need, against: key) != nil, endsAwaitedByReservers().isEmpty { continue }
            (best, bestKey) = (i, key)
        }
        guard let best else { return nil }
        return lanes.popBest(
            from: &registry.categories[category].parked[best].lanes[needsSlot: needsSlot], at: resource)
    }
}

extension Scheduler {
    // MARK: Waiting and waking

    mutating func makeCandidate(_ lane: LaneIndex) {
        unpark(lane)
        lanes.makeCandidate(lane)
    }

    mutating func park(_ lane: LaneIndex, at resource: Resource) {
        lanes[lane].status = .parked(resource)
        let entry = lanes.newEntry(lane)
        switch resource {
        case .queue(let queue):
            lanes.add(entry, to: &registry.queues[queue].parked)
            queues[queue].parkedCount += 1
        case .group(let group):
            lanes.add(entry, to: &registry.groups[group].parked)
            groups[group].parkedCount += 1
        case .category(let category):
            guard let need = lanes[lane].needs.first(where: { $0.category == category }) else { return }
            categories[category].parkedCount += 1
            let isGroup = lanes[lane].key.isGroup
            if let i = categories[category].parked.firstIndex(where: {
                $0.isGroup == isGroup && $0.mode == need.mode && $0.units == need.units
            }) {
                lanes.add(entry, to: &registry.categories[category].parked[i].heap)
            } else {
                var parking = Category.Parking(isGroup: isGroup, mode: need.mode, units: need.units)
                parking.heap.add(entry)
                categories[category].parked.append(parking)
            }
        case .executor(let executor):
            lanes.add(entry, to: &executors[executor].parked)
            executors[executor].parkedCount += 1
        case .rate(let category):
            if lanes[lane].key.isGroup {
                lanes.add(entry, to: &registry.categories[category].groupsParkedAtRate)
            } else {
                lanes.add(entry, to: &registry.categories[category].parkedAtRate)
            }
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

    mutating func unpark(_ lane: LaneIndex) {
        guard case .parked(let resource) = lanes[lane].status else { return }
        lanes[lane].status = .idle
        switch resource {
        case .queue(let queue): queues[queue].parkedCount -= 1
        case .group(let group): groups[group].parkedCount -= 1
        case .category(let category): categories[category].parkedCount -= 1
        case .executor(let executor): executors[executor].parkedCount -= 1
        case .rate(let category): categories[category].parkedAtRateCount -= 1
        // Lanes that are parked there are not counted.
        case .reservations, .yielding, .evaluations: break
        }
    }

    /// Makes the best lane that is parked at `resource`, and fits there, a candidate: there may be room. That lane
    /// wakes the next one after it was considered. So all that fit start in order, and no lane is examined needlessly.
    mutating func wake(_ resource: Resource) {
        let lane: LaneIndex?
        switch resource {
        case .queue(let queue):
            guard queues[queue].parkedCount > 0, queues[queue].hasRoom(forGroup: false) else { return }
            lane = lanes.popBest(from: &registry.queues[queue].parked, at: resource)
        case .group(let group):
            guard groups[group].parkedCount > 0, groups[group].hasRoom else { return }
            lane = lanes.popBest(from: &registry.groups[group].parked, at: resource)
        case .category(let category):
            guard categories[category].parkedCount > 0 else { return }
            if let group = popBestFitting(category, groups: true) {
                makeCandidate(group)
                lanes[group].wokenBy = resource
            }
            lane = popBestFitting(category, groups: false)
        case .executor(let executor):
            guard executors[executor].parkedCount > 0, executors[executor].hasRoom else { return }
            lane = lanes.popBest(from: &executors[executor].parked, at: resource)
        case .rate(let category):
            guard categories[category].parkedAtRateCount > 0, categories[category].rate?.hasRoom(at: now) != false
            else {
                return
            }
            if let group = lanes.popBest(from: &registry.categories[category].groupsParkedAtRate, at: resource) {
                makeCandidate(group)
                lanes[group].wokenBy = resource
            }
            lane = lanes.popBest(from: &registry.categories[category].parkedAtRate, at: resource)
        case .reservations, .yielding:
            for entry in lanes.popAllBlocked() { makeCandidate(entry.lane) }
            return
        case .evaluations: lane = popNextEvaluation()
        }
        guard let lane else { return }
        makeCandidate(lane)
        lanes[lane].wokenBy = resource
    }

    /// Wakes every lane that waits for room in a queue, also lanes of groups.
    mutating func wakeAll(_ queue: QueueIndex) {
        while let lane = lanes.popBest(from: &registry.queues[queue].parked, at: .queue(queue)) { makeCandidate(lane) }
    }

    /// Wakes every lane that waits for the rate of a category: the rate has changed.
    mutating func wakeAllAtRate(_ category: CategoryIndex) {
        while let lane = lanes.popBest(from: &registry.categories[category].parkedAtRate, at: .rate(category)) {
            makeCandidate(lane)
        }
        while let lane = lanes.popBest(from: &registry.categories[category].groupsParkedAtRate, at: .rate(category)) {
            makeCandidate(lane)
        }
    }

    private mutating func popBestFitting(_ category: CategoryIndex, groups: Bool) -> LaneIndex? {
        var best: Int?
        var bestKey = UInt64.max
        for i in categories[category].parked.indices where categories[category].parked[i].isGroup == groups {
            let (mode, units) = (categories[category].parked[i].mode, categories[category].parked[i].units)
            guard categories[category].room.fits(mode, units),
                let key = lanes.firstKey(of: &registry.categories[category].parked[i].heap, at: .category(category)),
                key < bestKey
            else { continue }
            // All that come after a reserved position would only be parked here again.
            let need = Need(category: category, mode: mode, units: units)
            if reserver(of: need, against: key) != nil, endsAwaitedByReservers().isEmpty { continue }
            (best, bestKey) = (i, key)
        }
        guard let best else { return nil }
        return lanes.popBest(from: &registry.categories[category].parked[best].heap, at: .category(category))
    }
}

extension Scheduler {
    // MARK: Waiting and waking

    mutating func makeCandidate(_ lane: LaneIndex) {
        unpark(lane)
        lanes[lane].status = .candidate
        let entry = newEntry(lane)
        if lanes[lane].key.isGroup {
            Self.add(entry, to: &groupCandidates, lanes)
        } else {
            Self.add(entry, to: &candidates, lanes)
        }
    }

    /// Most of what is added leaves from the top; what left from below it must not add up behind a best that stays.
    private static func add(_ entry: LaneHeap.Entry, to heap: inout LaneHeap, _ lanes: Pool<Lane, LaneIndex>) {
        heap.add(entry)
        heap.sweep(live: lanes.count) { counts($0, lanes) }
    }

    private mutating func newEntry(_ lane: LaneIndex) -> LaneHeap.Entry {
        laneStamps &+= 1
        lanes[lane].stamp = laneStamps
        return LaneHeap.Entry(key: lanes[lane].top, lane: lane, stamp: laneStamps)
    }

    /// Whether an entry of a heap of lanes is the newest of a lane that has members.
    static func counts(_ entry: LaneHeap.Entry, _ lanes: Pool<Lane, LaneIndex>) -> Bool {
        lanes.contains(entry.lane) && lanes[entry.lane].stamp == entry.stamp && lanes[entry.lane].live > 0
    }

    mutating func park(_ lane: LaneIndex, at resource: Resource) {
        lanes[lane].status = .parked(resource)
        let entry = newEntry(lane)
        switch resource {
        case .queue(let queue):
            Self.add(entry, to: &queues[queue].parked, lanes)
            queues[queue].parkedCount += 1
        case .group(let family):
            Self.add(entry, to: &families[family].parked, lanes)
            families[family].parkedCount += 1
        case .category(let category):
            guard let need = lanes[lane].needs.first(where: { $0.category == category }) else { return }
            categories[category].parkedCount += 1
            let isGroup = lanes[lane].key.isGroup
            if let i = categories[category].parked.firstIndex(where: {
                $0.isGroup == isGroup && $0.mode == need.mode && $0.units == need.units
            }) {
                Self.add(entry, to: &categories[category].parked[i].heap, lanes)
            } else {
                var parking = Category.Parking(isGroup: isGroup, mode: need.mode, units: need.units)
                parking.heap.add(entry)
                categories[category].parked.append(parking)
            }
        case .reservations, .others:
            keptBack.append(entry)
            // It keeps no place itself meanwhile.
            if reservations > 0 { reservationsInDoubt = true }
        case .evaluations: Self.add(entry, to: &unasked, lanes)
        }
    }

    mutating func unpark(_ lane: LaneIndex) {
        guard case .parked(let resource) = lanes[lane].status else { return }
        lanes[lane].status = .idle
        switch resource {
        case .queue(let queue): queues[queue].parkedCount -= 1
        case .group(let family): families[family].parkedCount -= 1
        case .category(let category): categories[category].parkedCount -= 1
        // Their entries count no more.
        case .reservations, .others, .evaluations: break
        }
    }

    /// There may be room at `resource`: the best lane that waits there and fits has its chance. Once it has been
    /// considered it wakes the next, so that all that fits starts, in order, and nothing is looked at in vain.
    mutating func wake(_ resource: Resource) {
        let lane: LaneIndex?
        switch resource {
        case .queue(let queue):
            guard queues[queue].parkedCount > 0, queues[queue].hasRoom(forGroup: false) else { return }
            lane = Self.takeBest(from: &queues[queue].parked, lanes, at: resource)
        case .group(let family):
            guard families[family].parkedCount > 0, families[family].hasRoom else { return }
            lane = Self.takeBest(from: &families[family].parked, lanes, at: resource)
        case .category(let category):
            guard categories[category].parkedCount > 0 else { return }
            if let group = takeBestFitting(category, groups: true) {
                makeCandidate(group)
                lanes[group].wokenBy = resource
            }
            lane = takeBestFitting(category, groups: false)
        case .reservations, .others:
            let woken = keptBack
            keptBack = []
            for entry in woken where isKeptBack(entry) { makeCandidate(entry.lane) }
            return
        case .evaluations:
            guard evaluating < Limits.evaluationsAtOnce else { return }
            lane = Self.takeBest(from: &unasked, lanes, at: resource)
        }
        guard let lane else { return }
        makeCandidate(lane)
        lanes[lane].wokenBy = resource
    }

    /// Wakes every lane that waits for room in a queue, groups' too.
    mutating func wakeAll(_ queue: QueueIndex) {
        while let lane = Self.takeBest(from: &queues[queue].parked, lanes, at: .queue(queue)) { makeCandidate(lane) }
    }

    private mutating func takeBestFitting(_ category: CategoryIndex, groups: Bool) -> LaneIndex? {
        var best: Int?
        var bestKey = UInt64.max
        for i in categories[category].parked.indices where categories[category].parked[i].isGroup == groups {
            let (mode, units) = (categories[category].parked[i].mode, categories[category].parked[i].units)
            guard categories[category].fits(mode, units),
                let key = Self.firstKey(of: &categories[category].parked[i].heap, lanes, at: .category(category)),
                key < bestKey
            else { continue }
            // All that come after a kept place would only be sent back here.
            let need = Need(category: category, mode: mode, units: units)
            if keeper(of: need, against: key) != nil, familiesKeepersWaitFor().isEmpty { continue }
            (best, bestKey) = (i, key)
        }
        guard let best else { return nil }
        return Self.takeBest(from: &categories[category].parked[best].heap, lanes, at: .category(category))
    }

    private static func takeBest(from heap: inout LaneHeap, _ lanes: Pool<Lane, LaneIndex>, at resource: Resource)
        -> LaneIndex?
    {
        guard firstKey(of: &heap, lanes, at: resource) != nil, let first = heap.first else { return nil }
        heap.removeFirst()
        return first.lane
    }

    /// The key of the best lane that really waits at `resource`; entries that no longer count go.
    private static func firstKey(of heap: inout LaneHeap, _ lanes: Pool<Lane, LaneIndex>, at resource: Resource)
        -> UInt64?
    {
        while let first = heap.first {
            let isCurrent = lanes.contains(first.lane) && lanes[first.lane].stamp == first.stamp
            guard isCurrent, lanes[first.lane].status == .parked(resource) else {
                heap.removeFirst()
                continue
            }
            let top = lanes[first.lane].top
            if top == first.key { return top }
            // Its first member has left since: it has its place by the next one.
            heap.removeFirst()
            heap.add(LaneHeap.Entry(key: top, lane: first.lane, stamp: first.stamp))
        }
        return nil
    }
}

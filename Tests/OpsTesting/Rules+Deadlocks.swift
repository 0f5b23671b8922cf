import OpsCore

/// Lock-ups, worked out by brute force: all that must come before all, until no more follows.
extension Rules {
    /// Returns true if a group that started now would never end, because something that it waits for would wait for its
    /// end.
    func locksUp(_ span: Record) -> Bool {
        guard isSpan(span) else { return false }
        let first = allBeforeWhole([Milestone(id: span.id, isEnd: true)])
        let others = first.filter { !$0.isEnd && $0.id != span.id }.map { store[$0.id] }.filter(\.isWaiting)
        let mayTie = Set(span.categories.map(\.name)).contains { self.mayTie($0, span, others) }
        return mayTie && Forcing(self, first, started: span.id).neverEnds(span.id)
    }

    /// Returns true if a group, the waiting operations and the holders together want more of a category than there is.
    private func mayTie(_ name: String, _ span: Record, _ others: [Record]) -> Bool {
        let users = others.filter { use($0, name) != nil && pot($0, name) == pot(span, name) }
        if users.isEmpty { return false }
        let uses = (users + [span]).compactMap { use($0, name) }
        if uses.allSatisfy({ $0.mode == .shared }) { return false }
        if uses.contains(where: { $0.mode != .units }) { return true }
        let held = holders(for: span, name).compactMap { use($0, name) }.filter { $0.mode == .units }
        return (uses + held).reduce(Int64(0)) { $0 + Int64($1.units) } > room(in: pot(span, name), name)
    }

    /// All that must come to pass before these, spans being entered as a whole.
    func allBeforeWhole(_ milestones: [Milestone]) -> Set<Milestone> {
        var seen = Set(milestones)
        var open = milestones
        while let next = open.popLast() {
            let record = store[next.id]
            var more = before(next)
            if !next.isEnd, isSpan(record) { more.append(Milestone(id: record.id, isEnd: true)) }
            if !next.isEnd, record.isWaiting {
                let names = Set(record.categories.map(\.name))
                more += store.unfinished.filter { holder in
                    holder.state == .executing && isSpan(holder)
                        && names.contains { use(holder, $0) != nil && pot(holder, $0) == pot(record, $0) }
                }.map { Milestone(id: $0.id, isEnd: true) }
            }
            if let around = store.ancestors(of: record).first(where: isSpan) {
                more.append(Milestone(id: around.id, isEnd: true))
            }
            for milestone in more where seen.insert(milestone).inserted { open.append(milestone) }
        }
        return seen
    }

    /// The nearest group around it that names the category: they take it within that, started or not.
    func pot(_ record: Record, _ name: String) -> OperationID? {
        store.ancestors(of: record).first { use($0, name) != nil }?.id
    }

    func room(in pot: OperationID?, _ name: String) -> Int64 {
        guard let pot, let share = use(store[pot], name) else { return Int64(max(1, store.capacity(name))) }
        return share.mode == .units ? Int64(share.units) : room(in: self.pot(store[pot], name), name)
    }
}

/// Milestones and their order, with what follows from categories.
private struct Forcing {
    let rules: Rules
    let nodes: [Milestone]
    let records: [Record]
    let started: OperationID
    var before: [Milestone: Set<Milestone>] = [:]

    init(_ rules: Rules, _ reached: Set<Milestone>, started: OperationID) {
        self.rules = rules
        self.started = started
        records = Set(reached.map(\.id)).sorted().map { rules.store[$0] }
        nodes = records.flatMap { [Milestone(id: $0.id, isEnd: false), Milestone(id: $0.id, isEnd: true)] }
        for node in nodes where node.isEnd || !isExecuting(rules.store[node.id]) {
            before[node] = Set(reached.contains(node) ? rules.before(node) : [])
            if node.isEnd { before[node]?.insert(Milestone(id: node.id, isEnd: false)) }
        }
    }

    private func isExecuting(_ record: Record) -> Bool { record.state == .executing || record.id == started }

    func neverEnds(_ id: OperationID) -> Bool {
        var forcing = self
        while true {
            let done = forcing.done()
            if done.count < nodes.count { return !done.contains(Milestone(id: id, isEnd: true)) }
            if !forcing.force() { return false }
        }
    }

    /// All that can come to pass, one after the other.
    private func done() -> Set<Milestone> {
        var done: Set<Milestone> = []
        var moved = true
        while moved {
            moved = false
            for node in nodes where !done.contains(node) {
                guard before[node, default: []].isSubset(of: done), node.isEnd || hasRoom(node.id, done) else {
                    continue
                }
                done.insert(node)
                moved = true
            }
        }
        return done
    }

    private func hasRoom(_ id: OperationID, _ done: Set<Milestone>) -> Bool {
        let record = rules.store[id]
        if isExecuting(record) { return true }
        return Set(record.categories.map(\.name)).allSatisfy { name in
            guard let wanted = rules.use(record, name) else { return true }
            let held = records.filter {
                $0.id != id && isExecuting($0) && rules.isSpan($0) && rules.pot($0, name) == rules.pot(record, name)
                    && !done.contains(Milestone(id: $0.id, isEnd: true))
            }.compactMap { rules.use($0, name) }
            let units = held.reduce(Int64(0)) { $0 + ($1.mode == .units ? Int64($1.units) : 0) }
            if held.contains(where: { !canShare(wanted, $0, rules.room(in: rules.pot(record, name), name)) }) {
                return false
            }
            return wanted.mode != .units || units == 0
                || units + Int64(wanted.units) <= rules.room(in: rules.pot(record, name), name)
        }
    }

    private func canShare(_ a: CategoryUse, _ b: CategoryUse, _ room: Int64) -> Bool {
        switch (a.mode, b.mode) {
        case (.shared, .shared): true
        case (.units, .units): Int64(a.units) + Int64(b.units) <= room
        default: false
        }
    }

    /// Adds the orders that exclusion forces: of a group and an operation that cannot share a category with it, one
    /// that starts before the other's end ends before the other's start. Returns false when nothing new follows.
    private mutating func force() -> Bool {
        var all: [Milestone: Set<Milestone>] = [:]
        for node in nodes { all[node] = closure(node) }
        var isNew = false
        for span in records where rules.isSpan(span) {
            for other in records where other.id != span.id && !isExecuting(other) && conflict(span, other) {
                let (start, end) = (Milestone(id: other.id, isEnd: false), Milestone(id: other.id, isEnd: true))
                let (spanStart, spanEnd) = (Milestone(id: span.id, isEnd: false), Milestone(id: span.id, isEnd: true))
                if !isExecuting(span), all[spanEnd, default: []].contains(start) {
                    isNew = before[spanStart, default: []].insert(end).inserted || isNew
                }
                if isExecuting(span) || all[start, default: []].contains(spanStart) {
                    isNew = before[start, default: []].insert(spanEnd).inserted || isNew
                }
            }
        }
        for other in records where !isExecuting(other) {
            for name in Set(other.categories.map(\.name)) {
                guard let crowding = crowding(other, name, all) else { continue }
                let start = Milestone(id: other.id, isEnd: false)
                isNew = before[start, default: []].insert(Milestone(id: crowding, isEnd: true)).inserted || isNew
            }
        }
        return isNew
    }

    /// One of the spans that are sure to hold, when it starts, too many units for it.
    private func crowding(_ other: Record, _ name: String, _ all: [Milestone: Set<Milestone>]) -> OperationID? {
        guard let wanted = rules.use(other, name), wanted.mode == .units else { return nil }
        let start = Milestone(id: other.id, isEnd: false)
        let holders = records.filter { span in
            guard span.id != other.id, rules.isSpan(span), rules.use(span, name)?.mode == .units,
                rules.pot(span, name) == rules.pot(other, name)
            else { return false }
            let isAfter = isExecuting(span) || all[start, default: []].contains(Milestone(id: span.id, isEnd: false))
            return isAfter && all[Milestone(id: span.id, isEnd: true), default: []].contains(start)
        }
        let held = holders.reduce(Int64(wanted.units)) { $0 + Int64(rules.use($1, name)?.units ?? 0) }
        return held > rules.room(in: rules.pot(other, name), name) ? holders.last?.id : nil
    }

    private func conflict(_ a: Record, _ b: Record) -> Bool {
        Set(a.categories.map(\.name)).contains { name in
            guard let one = rules.use(a, name), let other = rules.use(b, name), rules.pot(a, name) == rules.pot(b, name)
            else { return false }
            return !canShare(one, other, rules.room(in: rules.pot(a, name), name))
        }
    }

    private func closure(_ node: Milestone) -> Set<Milestone> {
        var seen: Set<Milestone> = []
        var open = [node]
        while let next = open.popLast() {
            for other in before[next, default: []] where seen.insert(other).inserted { open.append(other) }
        }
        return seen
    }
}

import Testing

@testable import OpsCore

@Suite("Barrier book")
struct BarrierBookTests {
    @Test func `a barrier gathers what is before it and blocks what is after it`() {
        let rows = RegistryOfRows()
        let (first, second) = (rows.add(1), rows.add(2))
        #expect(rows.join(first).isEmpty && rows.join(second).isEmpty)
        let barrier = rows.add(3, .barrier)
        #expect(rows.join(barrier) == .gathering)
        let later = rows.add(4)
        #expect(rows.join(later) == .behindBarrier)
        let book = rows.registry.barriers
        #expect(book.waits(of: barrier, in: rows.registry.table) == [first, second])
        #expect(book.waits(of: later, in: rows.registry.table) == [barrier])
        #expect(book.reasons(for: later, in: rows.registry.table) == [barrier])
        #expect(rows.broken().isEmpty)

        #expect(rows.finish(second).isEmpty)
        #expect(rows.finish(first) == [.gathered(barrier)])
        rows.start(barrier)
        #expect(rows.finish(barrier) == [.opened(later)])
        #expect(!rows.registry.barriers.hasBarriers(in: rows.index(ofQueue: "default")) && rows.broken().isEmpty)
    }

    @Test func `a barrier without anything before it gathers nothing`() {
        let rows = RegistryOfRows()
        #expect(rows.join(rows.add(1, .barrier)).isEmpty)
        #expect(rows.join(rows.add(2, in: "other")).isEmpty, "a barrier orders its own queue alone")
        #expect(rows.broken().isEmpty)
    }

    @Test func `of two barriers the second waits for the first and operations wait for the last`() {
        let rows = RegistryOfRows()
        let (first, between, second, last) = (rows.add(1, .barrier), rows.add(2), rows.add(3, .barrier), rows.add(4))
        for operation in [first, between, second, last] { rows.join(operation) }
        let (book, table) = (rows.registry.barriers, rows.registry.table)
        #expect(book.waits(of: second, in: table) == [first, between])
        #expect(book.waits(of: last, in: table) == [second])
        #expect(Set(book.kept(by: first, in: table, rows.registry.partitions)) == [second, between])
        #expect(book.kept(by: between, in: table, rows.registry.partitions) == [second])
        rows.start(first)
        #expect(rows.finish(first) == [.opened(between), .opened(second)])
        #expect(rows.finish(between) == [.gathered(second)])
    }

    @Test func `a barrier gathers the operations since the barrier before it over a gap in the ids`() {
        for id in [5, 5_000] as [Int64] {
            let rows = RegistryOfRows()
            let group = rows.add(1, .group)
            let inside = rows.add(2, .barrier, under: group)
            let (between, elsewhere, second) = (rows.add(3), rows.add(4, in: "other"), rows.add(id, .barrier))
            for operation in [group, inside, between, elsewhere, second] { rows.join(operation) }
            #expect(rows.registry.barriers.gathered(by: second, in: rows.registry.table) == [group, between])
            #expect(rows.broken().isEmpty)
        }
    }

    @Test func `the end of a barrier leaves operations to the barrier before it`() {
        let rows = RegistryOfRows()
        let (first, second, last) = (rows.add(1, .barrier), rows.add(2, .barrier), rows.add(3))
        for operation in [first, second, last] { rows.join(operation) }
        #expect(rows.finish(second) == [.inherited(first)])
        #expect(rows.registry.barriers.waits(of: last, in: rows.registry.table) == [first])
        #expect(rows.finish(first) == [.opened(last)])
    }

    @Test func `a barrier that ends before its turn has its queue counted again`() {
        let rows = RegistryOfRows()
        let (first, barrier, next, last) = (rows.add(1), rows.add(2, .barrier), rows.add(3, .barrier), rows.add(4))
        for operation in [first, barrier, next, last] { rows.join(operation) }
        #expect(rows.finish(barrier).isEmpty && rows.registry.barriers.hasQueuesToRecount)
        #expect(rows.broken().contains("10: a queue is left to recount after the turn"))
        let standings = rows.rebuild()
        #expect(
            standings == [
                BarrierBook.Standing(operation: first, isBehind: false, isGathering: false),
                BarrierBook.Standing(operation: next, isBehind: false, isGathering: true),
                BarrierBook.Standing(operation: last, isBehind: true, isGathering: false),
            ])
        #expect(!rows.registry.barriers.hasQueuesToRecount)
    }

    @Test func `a barrier of an ordinary user orders the operations of that user alone`() {
        let rows = RegistryOfRows()
        let (own, other) = (rows.add(1, of: 7), rows.add(2, of: 8))
        let barrier = rows.add(3, .barrier, of: 7)
        let (ownLater, otherLater, root) = (rows.add(4, of: 7), rows.add(5, of: 8), rows.add(6))
        for operation in [own, other, barrier, ownLater, otherLater, root] { rows.join(operation) }
        let (book, table) = (rows.registry.barriers, rows.registry.table)
        #expect(book.waits(of: barrier, in: table) == [own])
        #expect(book.waits(of: ownLater, in: table) == [barrier])
        #expect(book.waits(of: otherLater, in: table).isEmpty && book.waits(of: root, in: table).isEmpty)
        #expect(BarrierBook.areOrdered(barrier, ownLater, in: table))
        #expect(!BarrierBook.areOrdered(barrier, otherLater, in: table))
        let queue = rows.index(ofQueue: "default")
        #expect(book.ordinaryBarriers(in: queue) == 1 && book.hasBarriers(in: queue))
        #expect(book.mayOrder(table[own]) && !book.mayOrder(table[other]))
        #expect(rows.broken().isEmpty)
        #expect(rows.finish(own) == [.gathered(barrier)] && rows.finish(barrier) == [.opened(ownLater)])
        #expect(rows.registry.barriers.ordinaryBarriers(in: queue) == 0 && rows.broken().isEmpty)
    }

    @Test func `a barrier of root waits for everybody and is waited for by barriers of ordinary users`() {
        let rows = RegistryOfRows()
        let (ordinary, shared, later) = (rows.add(1, .barrier, of: 7), rows.add(2, .barrier), rows.add(3, of: 7))
        for operation in [ordinary, shared, later] { rows.join(operation) }
        let (book, table) = (rows.registry.barriers, rows.registry.table)
        #expect(book.waits(of: shared, in: table) == [ordinary])
        #expect(book.waits(of: later, in: table) == [shared], "the last barrier in either scope")
        #expect(book.kept(by: ordinary, in: table, rows.registry.partitions) == [shared])
        #expect(rows.broken().isEmpty)
    }

    @Test func `a barrier does not wait for the group around it but the next barrier does`() {
        let rows = RegistryOfRows()
        let group = rows.add(1, .group)
        let inside = rows.add(2, .barrier, under: group)
        let next = rows.add(3, .barrier)
        let last = rows.add(4)
        for operation in [group, inside, next, last] { rows.join(operation) }
        let (book, table) = (rows.registry.barriers, rows.registry.table)
        #expect(book.waits(of: inside, in: table).isEmpty)
        #expect(book.waits(of: next, in: table) == [inside, group])
        #expect(rows.broken().isEmpty)
    }

    @Test func `children of a barrier do not wait for it`() {
        let rows = RegistryOfRows()
        let group = rows.add(1, [.group, .barrier])
        let (child, later) = (rows.add(2, under: group), rows.add(3))
        for operation in [group, child, later] { rows.join(operation) }
        let (book, table) = (rows.registry.barriers, rows.registry.table)
        #expect(book.waits(of: child, in: table).isEmpty && book.waits(of: later, in: table) == [group])
        let queue = rows.index(ofQueue: "default")
        let asChild = book.waits(
            ofNewChildOf: group, in: queue, nil, isBarrier: false, isPrivileged: true, in: table)
        #expect(asChild.isEmpty)
        let asBarrier = book.waits(ofNewChildOf: group, in: queue, nil, isBarrier: true, isPrivileged: true, in: table)
        #expect(asBarrier == [child, later])
        let ofNewUser = book.waits(ofNewChildOf: group, in: queue, nil, isBarrier: true, isPrivileged: false, in: table)
        #expect(ofNewUser.isEmpty, "a user without operations in the queue has nothing to wait for")
    }

    @Test func `an operation that has started is not put behind a barrier that comes back`() {
        let rows = RegistryOfRows()
        let (barrier, started, waiting) = (rows.add(1, .barrier), rows.add(2), rows.add(3))
        rows.start(started)
        let standings = rows.rebuild()
        #expect(standings.map(\.operation) == [barrier, started, waiting])
        #expect(standings.map(\.isBehind) == [false, false, true] && !standings.contains(where: \.isGathering))
    }

    @Test func `a barrier that comes back before an executing one is waited for by operations behind that`() {
        let rows = RegistryOfRows()
        let (returned, barrier, later) = (rows.add(1, .barrier), rows.add(2, .barrier), rows.add(3))
        rows.start(barrier)
        _ = rows.rebuild()
        rows.insert(.behindBarrier, into: later)
        let (book, table) = (rows.registry.barriers, rows.registry.table)
        #expect(book.waits(of: later, in: table) == [returned, barrier])
        #expect(book.waits(of: barrier, in: table).isEmpty && book.waits(of: returned, in: table).isEmpty)
    }

    @Test func `the weight of an end is what the barrier lets go on`() {
        let rows = RegistryOfRows()
        let (first, barrier) = (rows.add(1), rows.add(2, .barrier))
        let later = (3...6).map { rows.add(Int64($0)) }
        for operation in [first, barrier] + later { rows.join(operation) }
        #expect(rows.registry.barriers.weight(ofLeaving: first, unfinished: 6, in: rows.registry.table) == 0)
        let waiting = rows.registry.barriers.weight(ofLeaving: barrier, unfinished: 6, in: rows.registry.table)
        #expect(waiting == 6, "one that has not gathered everything has the queue counted again")
        _ = rows.finish(first)
        #expect(rows.registry.barriers.weight(ofLeaving: barrier, unfinished: 5, in: rows.registry.table) == 4)
    }

    @Test func `a recount finds the queues with barriers and counts the others`() {
        let rows = RegistryOfRows()
        let (plain, barrier) = (rows.add(1, in: "plain", of: 7), rows.add(2, .barrier, in: "ordered"))
        var registry = rows.registry
        let found = registry.barriers.recount(in: registry.table)
        #expect(found == [registry.table[barrier].queue])
        let row = registry.table[plain]
        #expect(registry.barriers[.queue(row.queue)].after == 1)
        #expect(row.partition.map { registry.barriers[.partition($0)].after } == 1)
    }
}

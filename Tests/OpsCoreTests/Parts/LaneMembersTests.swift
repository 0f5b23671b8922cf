import OpsTesting
import Testing

@testable import OpsCore

/// Compares the collections of lanes with simple models of them, through random changes.
@Suite("Lane members")
struct LaneMembersTests {
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `members leave in order and are found below a bound`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var members = ReadyMembers()
        var model: [UInt64] = []
        for step in 1...400 {
            // Mostly in order, as operations become ready.
            let isLate = random.chance(25)
            let key = UInt64(isLate ? random.below(5000) : 10 * step) << 20 | UInt64(step)
            if random.chance(60) {
                members.add(key, OperationIndex(rawValue: Int32(step)))
                model.append(key)
                model.sort()
            } else if !model.isEmpty {
                members.removeFirst()
                model.removeFirst()
            }
            #expect(members.first?.key == model.first)
            #expect(members.entries == model.count)
            let bound = UInt64(random.below(5000)) << 20
            var below: [UInt64] = []
            members.forEach(below: bound) { below.append($0.key) }
            #expect(below.sorted() == model.filter { $0 < bound })
            if let line = members.onlyLine { #expect(line.map(\.key) == model) }
            if random.chance(2) {
                members.sweep { $0.key % 3 != 0 }
                model.removeAll { $0 % 3 == 0 }
                #expect(members.onlyLine?.map(\.key) == model)
            }
        }
    }

    @Test func `a long line that has been left behind is dropped`() {
        var members = ReadyMembers()
        for key in 1...3000 as ClosedRange<UInt64> { members.add(key, OperationIndex(rawValue: Int32(key))) }
        for key in 1...2999 as ClosedRange<UInt64> {
            #expect(members.first?.key == key)
            members.removeFirst()
            #expect(members.head <= 1 + max(1024, members.line.count / 2))
        }
        members.add(1, OperationIndex(rawValue: 1))
        #expect(members.first?.operation == OperationIndex(rawValue: 1))
        members.removeAll()
        #expect(members.first == nil && members.entries == 0)
    }

    @Test func `a member that left and came back stays once after a sweep`() {
        var members = ReadyMembers()
        for key in [1, 5, 3, 5, 2] as [UInt64] { members.add(key, OperationIndex(rawValue: Int32(key))) }
        members.sweep { _ in true }
        #expect(members.onlyLine?.map(\.key) == [1, 2, 3, 5])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `an order of lanes finds each lane by its ticket`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var order = LaneOrder()
        var model: [Int32: (key: UInt64, ticket: LaneTicket)] = [:]
        for step in 0..<300 as Range<Int32> {
            let known = model.keys.sorted()
            let key = UInt64(random.below(100)) << 32 | UInt64(step)
            switch random.below(10) {
            case 0..<5:
                model[step] = (key, order.add(key, lane: LaneIndex(rawValue: step), need: step % 3))
            case 5..<8 where !known.isEmpty:
                let lane = random.pick(known)
                guard let ticket = model[lane]?.ticket else { continue }
                order.update(ticket, key: key)
                model[lane]?.key = key
            default:
                guard !known.isEmpty, let gone = model.removeValue(forKey: random.pick(known)) else { continue }
                order.remove(gone.ticket)
            }
            #expect(order.entries.first?.key == model.values.map(\.key).min())
            // Sometimes the key of a member, which is left out.
            let keys = model.values.map(\.key).sorted()
            let bound = keys.isEmpty || random.chance(50) ? UInt64(random.below(100)) << 32 : random.pick(keys)
            var below: [LaneIndex] = []
            order.forEach(below: bound) {
                #expect($0.need == $0.lane.rawValue % 3)
                below.append($0.lane)
                return true
            }
            #expect(below.map(\.rawValue).sorted() == model.filter { $0.value.key < bound }.keys.sorted())
        }
    }

    @Test func `lanes below one that is refused are left out`() {
        var order = LaneOrder()
        for lane in 0..<63 as Range<Int32> {
            _ = order.add(UInt64(lane), lane: LaneIndex(rawValue: lane), need: 0)
        }
        var seen: [Int32] = []
        order.forEach(below: .max) {
            seen.append($0.lane.rawValue)
            return $0.lane.rawValue == 0 || $0.lane.rawValue == 2
        }
        #expect(seen.sorted() == [0, 1, 2, 5, 6], "the root, its children, and those of the accepted one")
    }
}

@Suite("Shared values")
struct SharedValuesTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `values are kept as long as they have users`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var values = Interned<Int, PolicyIndex>()
        var users: [Int: Int] = [:]
        var indices: [Int: PolicyIndex] = [:]
        for _ in 0..<500 {
            let value = random.below(8)
            let count = users[value, default: 0]
            if random.chance(50) {
                let (index, isNew) = values.retain(value)
                #expect(isNew == (count == 0))
                #expect(count == 0 || indices[value] == index)
                indices[value] = index
                users[value] = count + 1
            } else if count > 0, let index = indices[value] {
                if random.chance(20) {
                    values.retain(index)
                    users[value] = count + 1
                } else {
                    #expect(values.release(index) == (count == 1))
                    users[value] = count - 1
                }
            }
            for (value, index) in indices where users[value, default: 0] > 0 { #expect(values[index] == value) }
            #expect(indices.values.allSatisfy { $0.offset < 8 }, "indices of unused values are used again")
        }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `slot time is that of a count in steps of ten seconds`(seed: UInt64) {
        let tick = TimeSpan.seconds(10)
        var random = SeededGenerator(seed: seed)
        var times = SlotTimes()
        var now = MonotonicInstant.zero + tick * Int64(random.below(12)) - tick * 60
        let account = times.account(QueueIndex(rawValue: 0), 7, at: now)
        var (used, running) = (TimeSpan.zero, Int64(0))
        for _ in 0..<300 {
            for _ in 0..<random.below(30) {
                now += tick
                used += tick * running
                if now.nanoseconds % (tick * 6).nanoseconds == 0 { used -= (used + .nanoseconds(31)) / 32 }
            }
            #expect(times.reading(account, at: now) == used)
            let step: Int32 = running > 0 && random.chance(50) ? -1 : 1
            #expect(times.count(account, step, at: now) == used)
            running += Int64(step)
            #expect(times.used(account, at: now) == used)
        }
    }

    @Test func `slot time of a long pause is forgotten, and that of a process that ran through it is not`() {
        func minutes(_ count: Int64) -> MonotonicInstant { .seconds(60 * count) }
        var times = SlotTimes()
        let account = times.account(QueueIndex(rawValue: 0), 7, at: 0)
        _ = times.count(account, 2, at: 0)
        let steady = TimeSpan.minutes(2 * 31)
        let rest = times.reading(account, at: minutes(440)) - steady
        #expect(abs(rest.nanoseconds) < steady.nanoseconds / 100_000)
        #expect(times.reading(account, at: minutes(10_000)) == steady)
        #expect(times.reading(account, at: minutes(10_000) + .nanoseconds(7)) == steady + .nanoseconds(14))
        _ = times.count(account, -2, at: 0)
        #expect(times.reading(account, at: minutes(10_000)) == 0)
    }
}

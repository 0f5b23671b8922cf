import OpsTesting
import Testing

@testable import OpsCore

@Suite("Unit table")
struct UnitTableTests {
    /// A group that holds two shares of a unit sees the unit twice.
    @Test func `shares that a restart restores are those of the least used entry of a name`() {
        var table = UnitTable(["a", "a", "b"])
        let restored = table.restore(["a"]) + table.restore(["a"])
        #expect(Set(restored).count == 2 && table.surplus == 0)
        let rest = table.assign(1)
        #expect(rest.map { table.name(of: $0) } == ["b"])
        #expect(
            table.checkInvariants(held: Dictionary(uniqueKeysWithValues: (restored + rest).map { ($0, 1) })).isEmpty)
        let beyond = table.restore(["b"])
        #expect(beyond == rest && table.surplus == 1)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `units are assigned to the least used, through changes of the list`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let all = (0..<6).map { "u\($0)" }
        var table = UnitTable()
        var (list, share) = ([String](), Int32(1))
        var held: [UnitIndex] = []
        func uses(_ name: String) -> Int { held.count { table.name(of: $0) == name } }
        for _ in 0..<400 {
            let free = list.reduce(0) { $0 + max(0, Int(share) - uses($1)) }
            switch random.below(10) {
            case 0..<1:
                list = all.filter { _ in random.chance(60) }
                share = Int32(1 + random.below(3))
                table.setList(list, share: share)
            case 1..<6 where free > 0:
                let least = list.filter { uses($0) < share }.map { uses($0) }.min()
                let first = list.first { uses($0) == least }
                let assigned = table.assign(1)
                #expect(assigned.map { table.name(of: $0) } == [first])
                held += assigned
            default:
                guard !held.isEmpty else { continue }
                table.release([held.remove(at: random.below(held.count))])
            }
            let counts = Dictionary(held.map { ($0, Int32(1)) }) { $0 + $1 }
            #expect(table.checkInvariants(held: counts).isEmpty)
            #expect(table.hasHolders == !held.isEmpty && table.isNamed == !list.isEmpty)
            #expect(table.capacity == Int32(list.count) * share)
            let beyond = Set(held.map { table.name(of: $0) })
                .reduce(0) { $0 + max(0, uses($1) - (list.contains($1) ? Int(share) : 0)) }
            #expect(table.surplus == (list.isEmpty ? 0 : Int32(beyond)))
        }
    }
}

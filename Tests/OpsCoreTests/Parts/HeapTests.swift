import Testing

@testable import OpsCore

/// An entry that is found by its name.
private struct Number: HeapEntry {
    let value: Int
    let name: Int
    static func < (a: Number, b: Number) -> Bool { a.value < b.value }
    func move(to position: Int, in positions: inout [Int]) { positions[name] = position }
}

/// An entry of a heap whose nodes have four children.
private struct Wide: HeapEntry {
    let value: Int
    static var arity: Int { 4 }
    static func < (a: Wide, b: Wide) -> Bool { a.value < b.value }
}

@Suite struct HeapTests {
    @Test func `entries leave in order`() {
        var random = SystemRandomNumberGenerator()
        for count in 0..<60 {
            var heap = Heap<Wide>()
            let values = (0..<count).map { _ in Int.random(in: 0..<40, using: &random) }
            for value in values { heap.add(Wide(value: value)) }
            #expect(heap.isSorted)
            var left: [Int] = []
            while let first = heap.first {
                left.append(first.value)
                heap.removeFirst()
            }
            #expect(left == values.sorted())
        }
    }

    @Test func `positions follow the entries`() {
        var random = SystemRandomNumberGenerator()
        var heap = Heap<Number>()
        var positions = [Int](repeating: -1, count: 300)
        var present: Set<Int> = []
        for step in 0..<300 {
            heap.add(Number(value: Int.random(in: 0..<50, using: &random), name: step), positions: &positions)
            present.insert(step)
            if step.isMultiple(of: 3), let name = present.randomElement(using: &random) {
                heap.remove(at: positions[name], positions: &positions)
                present.remove(name)
            }
            if step.isMultiple(of: 2), let name = present.randomElement(using: &random) {
                let moved = Number(value: Int.random(in: 0..<50, using: &random), name: name)
                heap.replace(at: positions[name], with: moved, positions: &positions)
            }
            #expect(heap.isSorted)
            #expect(present.allSatisfy { heap.entries[positions[$0]].name == $0 })
        }
    }

    @Test func `a sweep keeps the live entries in order`() {
        var heap = Heap<Wide>()
        for value in (0..<100).reversed() { heap.add(Wide(value: value)) }
        heap.sweep { $0.value.isMultiple(of: 7) }
        #expect(heap.isSorted && heap.count == 15 && heap.first?.value == 0)
    }
}

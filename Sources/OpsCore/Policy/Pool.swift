/// Records found by place; places are used again, and a place left free keeps its last record.
struct Pool<Element> {
    private(set) var elements: [Element] = []
    private(set) var isUsed: [Bool] = []
    private var free: [Int32] = []

    var count: Int { elements.count - free.count }

    subscript(place: Int32) -> Element {
        _read { yield elements[Int(place)] }
        _modify { yield &elements[Int(place)] }
    }

    mutating func insert(_ element: Element) -> Int32 {
        if let place = free.popLast() {
            elements[Int(place)] = element
            isUsed[Int(place)] = true
            return place
        }
        elements.append(element)
        isUsed.append(true)
        return Int32(elements.count - 1)
    }

    mutating func remove(_ place: Int32) {
        isUsed[Int(place)] = false
        free.append(place)
    }

    /// Places in use, lowest first.
    var places: some Sequence<Int32> {
        elements.indices.lazy.filter { isUsed[$0] }.map { Int32($0) }
    }
}

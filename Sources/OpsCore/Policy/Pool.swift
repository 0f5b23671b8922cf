/// Records found by their index; indices are used again, and a record that is removed stays until then.
struct Pool<Element: Codable, Index: Handle>: Codable {
    private(set) var elements: [Element] = []
    private(set) var isUsed: [Bool] = []
    private var free: [Index] = []

    var count: Int { elements.count - free.count }

    subscript(index: Index) -> Element {
        // Inlined, and through a span: otherwise the optimizer copies whole records for one field.
        @inline(__always) _read { yield elements.span[index.offset] }
        @inline(__always) _modify { yield &elements[index.offset] }
    }

    func contains(_ index: Index) -> Bool { isUsed[index.offset] }

    mutating func insert(_ element: Element) -> Index {
        if let index = free.popLast() {
            elements[index.offset] = element
            isUsed[index.offset] = true
            return index
        }
        elements.append(element)
        isUsed.append(true)
        return Index(rawValue: Int32(elements.count - 1))
    }

    mutating func remove(_ index: Index) {
        isUsed[index.offset] = false
        free.append(index)
    }

    /// Indices in use, lowest first.
    var indices: some Sequence<Index> {
        elements.indices.lazy.filter { isUsed[$0] }.map { Index(rawValue: Int32($0)) }
    }
}

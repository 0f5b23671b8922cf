/// Elements in the order of their arrival. Taking from the front costs only the elements taken, however many wait
/// behind.
struct Backlog<Element> {
    private var elements: [Element] = []
    /// Number of elements already taken.
    private var taken = 0

    init(_ elements: [Element] = []) { self.elements = elements }

    var isEmpty: Bool { taken == elements.count }
    var count: Int { elements.count - taken }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() -> Element? { removeFirst(atMost: 1).first }

    mutating func removeFirst(atMost limit: Int) -> ArraySlice<Element> {
        let first = elements[taken...].prefix(limit)
        taken = first.endIndex
        // Fewer elements are moved than were taken since the last time.
        if taken * 2 >= elements.count {
            elements.removeFirst(taken)
            taken = 0
        }
        return first
    }
}

extension Backlog: Sendable where Element: Sendable {}

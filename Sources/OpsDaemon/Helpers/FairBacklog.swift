/// Work of several users for a few slots. A slot goes to the waiting user who has the fewest, and only while more slots
/// are free than that user has: even if elements take long, others find a free slot.
struct FairBacklog<Element> {
    private struct Line {
        var waiting = Backlog<Element>()
        var running = 0
    }

    private var lines: [UInt32: Line] = [:]
    /// Users with waiting elements, in the order in which they are served among equals.
    private var users: [UInt32] = []
    private let slots: Int
    private(set) var running = 0

    init(slots: Int) { self.slots = slots }

    var isEmpty: Bool { users.isEmpty }

    mutating func append(_ element: Element, of user: UInt32) {
        if lines[user]?.waiting.isEmpty ?? true { users.append(user) }
        lines[user, default: Line()].waiting.append(element)
    }

    /// Lets all other users come first.
    mutating func serveLast(_ user: UInt32) {
        guard let index = users.firstIndex(of: user) else { return }
        users.append(users.remove(at: index))
    }

    /// Removes and returns the next element, and allocates a slot for it; nil if none waits that may have one.
    mutating func start() -> (element: Element, user: UInt32)? {
        guard let index = users.indices.min(by: { load(of: users[$0]) < load(of: users[$1]) }),
            running + load(of: users[index]) < slots
        else { return nil }
        let user = users.remove(at: index)
        guard let element = lines[user]?.waiting.removeFirst() else { return nil }
        if lines[user]?.waiting.isEmpty == false { users.append(user) }
        lines[user]?.running += 1
        running += 1
        return (element, user)
    }

    /// Releases the slot of an element.
    mutating func end(of user: UInt32) {
        running -= 1
        lines[user]?.running -= 1
        if let line = lines[user], line.running == 0, line.waiting.isEmpty { lines[user] = nil }
    }

    private func load(of user: UInt32) -> Int { lines[user]?.running ?? 0 }
}

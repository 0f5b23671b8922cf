/// Values that many operations share, stored once and reference-counted; an unused value is removed.
struct Interned<Value: Hashable & Codable, Index: Handle>: Codable {
    private var values: [Value] = []
    private var users: [Int32] = []
    private var free: [Index] = []
    private var known: [Value: Index] = [:]

    subscript(index: Index) -> Value {
        @inline(__always) _read { yield values.span[index.offset] }
    }

    func find(_ value: Value) -> Index? { known[value] }

    /// Returns the index of a value and counts one more use. `isNew`: it was not used before.
    mutating func retain(_ value: Value) -> (index: Index, isNew: Bool) {
        if let index = known[value] {
            users[index.offset] += 1
            return (index, false)
        }
        let index: Index
        if let reused = free.popLast() {
            values[reused.offset] = value
            users[reused.offset] = 1
            index = reused
        } else {
            index = Index(rawValue: Int32(values.count))
            values.append(value)
            users.append(1)
        }
        known[value] = index
        return (index, true)
    }

    mutating func retain(_ index: Index) { users[index.offset] += 1 }

    /// Counts one use less. Returns whether it was the last one.
    mutating func release(_ index: Index) -> Bool {
        users[index.offset] -= 1
        guard users[index.offset] == 0 else { return false }
        known[values[index.offset]] = nil
        free.append(index)
        return true
    }

    /// `counted`: the users of each value.
    func checkInvariants(users counted: [Index: Int32]) -> [String] {
        users.indices.filter { users[$0] != counted[Index(rawValue: Int32($0))] ?? 0 }.map {
            "shared values: number \($0) has \(users[$0]) users, not \(counted[Index(rawValue: Int32($0))] ?? 0)"
        }
    }
}

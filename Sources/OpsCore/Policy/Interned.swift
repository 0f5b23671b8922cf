/// Values that many operations share, kept once and counted; a value nobody uses is forgotten.
struct Interned<Value: Hashable> {
    private var values: [Value] = []
    private var users: [Int32] = []
    private var free: [Int32] = []
    private var index: [Value: Int32] = [:]

    subscript(place: Int32) -> Value {
        _read { yield values[Int(place)] }
    }

    /// The place of a value, which has one user more. `isNew`: nobody used it before.
    mutating func retain(_ value: Value) -> (place: Int32, isNew: Bool) {
        if let place = index[value] {
            users[Int(place)] += 1
            return (place, false)
        }
        let place: Int32
        if let reused = free.popLast() {
            values[Int(reused)] = value
            users[Int(reused)] = 1
            place = reused
        } else {
            place = Int32(values.count)
            values.append(value)
            users.append(1)
        }
        index[value] = place
        return (place, true)
    }

    mutating func retain(_ place: Int32) { users[Int(place)] += 1 }

    /// True when that was the last user.
    mutating func release(_ place: Int32) -> Bool {
        users[Int(place)] -= 1
        guard users[Int(place)] == 0 else { return false }
        index[values[Int(place)]] = nil
        free.append(place)
        return true
    }
}

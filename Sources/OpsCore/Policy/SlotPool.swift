/// The numbers that executing operations get as OPS_SLOT: always the lowest free one.
struct SlotPool: Codable {
    private var words: [UInt64] = []
    private(set) var used: Int32 = 0

    mutating func allocate() -> Int32 {
        used += 1
        for word in words.indices where words[word] != .max {
            let bit = (~words[word]).trailingZeroBitCount
            words[word] |= 1 << UInt64(bit)
            return Int32(word * 64 + bit)
        }
        words.append(1)
        return Int32((words.count - 1) * 64)
    }

    /// Marks a slot as used in which a process executes already.
    mutating func occupy(_ slot: Int32) {
        while words.count <= Int(slot) / 64 { words.append(0) }
        words[Int(slot) / 64] |= 1 << UInt64(slot % 64)
        used += 1
    }

    func isFree(_ slot: Int32) -> Bool {
        slot >= 0 && (Int(slot) / 64 >= words.count || words[Int(slot) / 64] & 1 << UInt64(slot % 64) == 0)
    }

    /// Returns whether this slot or a later one is used.
    func isUsed(from slot: Int32) -> Bool {
        let (word, bit) = (Int(slot) / 64, UInt64(slot % 64))
        guard word < words.count else { return false }
        return words[word] >> bit != 0 || words[(word + 1)...].contains { $0 != 0 }
    }

    func checkInvariants() -> [String] {
        let counted = words.reduce(0) { $0 + $1.nonzeroBitCount }
        return counted == Int(used) ? [] : ["2: \(used) slots are counted, \(counted) are marked"]
    }

    mutating func release(_ slot: Int32) {
        words[Int(slot) / 64] &= ~(1 << UInt64(slot % 64))
        used -= 1
    }
}

/// Distinct texts, numbered in the order of arrival; equal texts share a number.
public struct TextTable: Sendable {
    private(set) var bytes: [UInt8] = []
    private(set) var ends: [UInt32] = []
    /// Hash table with open addressing: the number of a text plus one, or 0 for a free slot. Its size is a power of
    /// two.
    private(set) var slots: [UInt32] = []
    /// Clients choose the texts, and without a secret seed could choose texts that collide. The standard library draws
    /// a new seed in each process.
    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize()) | 1
    private let limit: Int

    init(limit: Int = Limits.tableBytes) { self.limit = limit }

    public var count: Int { ends.count }

    public subscript(index: Int32) -> String { String(decoding: bytes[range(index)], as: UTF8.self) }

    public func utf8(_ index: Int32) -> ArraySlice<UInt8> { bytes[range(index)] }

    func range(_ index: Int32) -> Range<Int> {
        let index = Int(index)
        return (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index])
    }

    /// Returns the number of a text, which is added if it is new; nil if the table is full.
    mutating func intern(_ text: UnsafeBufferPointer<UInt8>) -> Int32? {
        if ends.count &* 4 >= slots.count &* 3 { grow() }
        let slot = slot(of: text)
        if slots[slot] != 0 { return Int32(slots[slot] &- 1) }
        guard bytes.count + text.count <= limit, ends.count < Int(Int32.max) else { return nil }
        bytes.append(contentsOf: text)
        ends.append(UInt32(bytes.count))
        slots[slot] = UInt32(ends.count)
        return Int32(ends.count - 1)
    }

    mutating func intern(_ text: [UInt8]) -> Int32? { text.withUnsafeBufferPointer { intern($0) } }

    /// Releases the memory for searching. Nothing may be added or searched afterwards.
    mutating func seal() { slots = [] }

    /// Returns the slot of the text, or the free slot where it belongs.
    private func slot(of text: UnsafeBufferPointer<UInt8>) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash(text)) & mask
        while slots[slot] != 0, !equals(Int32(slots[slot] &- 1), text) { slot = (slot &+ 1) & mask }
        return slot
    }

    private func equals(_ index: Int32, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let range = range(index)
        guard range.count == text.count else { return false }
        return bytes.withUnsafeBufferPointer { own in
            for offset in 0..<text.count where own[range.lowerBound &+ offset] != text[offset] { return false }
            return true
        }
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: max(16, slots.count * 2))
        let mask = slots.count - 1
        bytes.withUnsafeBufferPointer { own in
            for index in 0..<ends.count {
                let text = UnsafeBufferPointer(rebasing: own[range(Int32(index))])
                var slot = Int(truncatingIfNeeded: hash(text)) & mask
                while slots[slot] != 0 { slot = (slot &+ 1) & mask }
                slots[slot] = UInt32(index + 1)
            }
        }
    }

    /// Hashes eight bytes at a time by a folded multiplication, as wyhash does.
    private func hash(_ text: UnsafeBufferPointer<UInt8>) -> UInt64 {
        func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
            let product = a.multipliedFullWidth(by: b)
            return product.high ^ product.low
        }
        let prime: UInt64 = 0xa076_1d64_78bd_642f
        let seed = Self.seed
        var state = seed ^ UInt64(truncatingIfNeeded: text.count)
        var index = 0
        let base = UnsafeRawPointer(text.baseAddress)
        while index &+ 8 <= text.count, let base {
            let word = base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            state = fold(state ^ word, prime ^ seed)
            index &+= 8
        }
        var tail: UInt64 = 0
        while index < text.count {
            tail = tail << 8 | UInt64(text[index])
            index &+= 1
        }
        return fold(state ^ tail, prime ^ (seed &+ 0x9e37_79b9_7f4a_7c15))
    }
}

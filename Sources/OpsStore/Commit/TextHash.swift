/// Hash by which shared texts are found: SipHash-1-3 with a random key of each database.
///
/// Clients choose the texts. With a hash that clients can compute they could choose many texts with one hash, and each
/// later submission would be compared with all of them. The hash is only a hint: the text itself is compared, too.
struct TextHash {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init() {}

    init(of database: Database) throws(StoreError) {
        low = UInt64(bitPattern: try database.integer("SELECT textKeyLow FROM meta"))
        high = UInt64(bitPattern: try database.integer("SELECT textKeyHigh FROM meta"))
    }

    func of(_ text: String) -> Int64 {
        var state = SipState(low, high)
        var word: UInt64 = 0
        var count: UInt64 = 0
        for byte in text.utf8 {
            word |= UInt64(byte) << ((count & 7) * 8)
            count += 1
            if count & 7 == 0 {
                state.absorb(word)
                word = 0
            }
        }
        state.absorb(word | count << 56)
        return Int64(bitPattern: state.finish())
    }
}

private struct SipState {
    private var a: UInt64
    private var b: UInt64
    private var c: UInt64
    private var d: UInt64

    init(_ low: UInt64, _ high: UInt64) {
        a = low ^ 0x736f_6d65_7073_6575
        b = high ^ 0x646f_7261_6e64_6f6d
        c = low ^ 0x6c79_6765_6e65_7261
        d = high ^ 0x7465_6462_7974_6573
    }

    mutating func absorb(_ word: UInt64) {
        d ^= word
        round()
        a ^= word
    }

    mutating func finish() -> UInt64 {
        c ^= 0xff
        for _ in 0..<3 { round() }
        return a ^ b ^ c ^ d
    }

    private mutating func round() {
        a &+= b
        b = Self.rotated(b, 13) ^ a
        a = Self.rotated(a, 32)
        c &+= d
        d = Self.rotated(d, 16) ^ c
        a &+= d
        d = Self.rotated(d, 21) ^ a
        c &+= b
        b = Self.rotated(b, 17) ^ c
        c = Self.rotated(c, 32)
    }

    private static func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
}

/// Compresses the files of the page (RFC 1952), with repetitions and the fixed codes of RFC 1951.
struct Gzip {
    private let input: [UInt8]
    private var output: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]
    private var pending: UInt32 = 0
    private var pendingBits: UInt32 = 0

    private static let window = 1 << 15
    private static let shortest = 3
    private static let longest = 258
    /// Maximum number of earlier positions that are compared with one position.
    private static let comparisons = 32
    /// Base lengths of the codes from 257 on, and the number of additional bits of each.
    private static let lengths = bases(first: 3, direct: 8, perStep: 4, count: 28) + [(base: 258, bits: 0)]
    private static let distances = bases(first: 1, direct: 4, perStep: 2, count: 30)

    static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var gzip = Gzip(input: bytes)
        gzip.write(0b011, bits: 3)
        gzip.compress()
        gzip.writeSymbol(256)
        gzip.write(0, bits: 7)
        for value in [checksum(bytes), UInt32(truncatingIfNeeded: bytes.count)] {
            for shift in stride(from: UInt32(0), to: 32, by: 8) {
                gzip.output.append(UInt8(truncatingIfNeeded: value >> shift))
            }
        }
        return gzip.output
    }

    private init(input: [UInt8]) { self.input = input }

    /// Returns a table in which, after `direct` codes without additional bits, every `perStep` codes have one bit more.
    private static func bases(first: Int, direct: Int, perStep: Int, count: Int) -> [(base: Int, bits: UInt32)] {
        var (base, table) = (first, [(base: Int, bits: UInt32)]())
        for index in 0..<count {
            let bits = index < direct ? 0 : (index - direct) / perStep + 1
            table.append((base, UInt32(bits)))
            base += 1 << bits
        }
        return table
    }

    private mutating func compress() {
        // Latest position of each hash, and for each position the previous one with the same hash.
        var latest = [Int](repeating: -1, count: 1 << 14)
        var earlier = [Int](repeating: -1, count: input.count)
        func hash(_ at: Int) -> Int {
            let word = UInt32(input[at]) | UInt32(input[at + 1]) << 8 | UInt32(input[at + 2]) << 16
            return Int((word &* 0x9e37_79b1) >> 18)
        }
        var at = 0
        while at < input.count {
            var (length, distance) = (0, 0)
            if at + Self.shortest <= input.count {
                var candidate = latest[hash(at)]
                for _ in 0..<Self.comparisons {
                    guard candidate >= 0, at - candidate <= Self.window else { break }
                    let found = match(candidate, at, longerThan: length)
                    if found > length { (length, distance) = (found, at - candidate) }
                    candidate = earlier[candidate]
                }
            }
            let step = length >= Self.shortest ? length : 1
            if step == 1 { writeSymbol(Int(input[at])) } else { writeRepetition(length, distance) }
            for position in at..<min(at + step, max(at, input.count - 2)) {
                let hash = hash(position)
                earlier[position] = latest[hash]
                latest[hash] = position
            }
            at += step
        }
    }

    /// Returns the number of equal bytes at two positions, or 0 if it is not more than `longerThan`.
    private func match(_ a: Int, _ b: Int, longerThan known: Int) -> Int {
        let limit = min(Self.longest, input.count - b)
        guard known < limit, input[a + known] == input[b + known] else { return 0 }
        var length = 0
        while length < limit, input[a + length] == input[b + length] { length += 1 }
        return length
    }

    private mutating func writeRepetition(_ length: Int, _ distance: Int) {
        let code = Self.code(of: length, in: Self.lengths)
        writeSymbol(257 + code)
        write(UInt32(length - Self.lengths[code].base), bits: Self.lengths[code].bits)
        let step = Self.code(of: distance, in: Self.distances)
        writeReversed(UInt32(step), bits: 5)
        write(UInt32(distance - Self.distances[step].base), bits: Self.distances[step].bits)
    }

    private static func code(of value: Int, in table: [(base: Int, bits: UInt32)]) -> Int {
        var code = table.count - 1
        while table[code].base > value { code -= 1 }
        return code
    }

    /// Writes the fixed code of a byte, a length, or the end.
    private mutating func writeSymbol(_ symbol: Int) {
        switch symbol {
        case ..<144: writeReversed(UInt32(0x30 + symbol), bits: 8)
        case ..<256: writeReversed(UInt32(0x190 + symbol - 144), bits: 9)
        case ..<280: writeReversed(UInt32(symbol - 256), bits: 7)
        default: writeReversed(UInt32(0xc0 + symbol - 280), bits: 8)
        }
    }

    /// Writes a code, whose first bit is its highest.
    private mutating func writeReversed(_ code: UInt32, bits: UInt32) {
        var (code, reversed) = (code, UInt32(0))
        for _ in 0..<bits {
            reversed = reversed << 1 | code & 1
            code >>= 1
        }
        write(reversed, bits: bits)
    }

    private mutating func write(_ value: UInt32, bits: UInt32) {
        pending |= value << pendingBits
        pendingBits += bits
        while pendingBits >= 8 {
            output.append(UInt8(truncatingIfNeeded: pending))
            pending >>= 8
            pendingBits -= 8
        }
    }

    /// Returns the CRC-32 of bytes.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var value = UInt32.max
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 0 ? value >> 1 : (value >> 1) ^ 0xedb8_8320 }
        }
        return ~value
    }
}

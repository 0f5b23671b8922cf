/// Base64 with padding (RFC 4648), which Log uses for bytes.
///
/// Every byte of a log passes here. The code uses pointers and few calls, so that it is fast enough in a debug build
/// too.
public enum Base64 {
    private static let alphabet = StaticString("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    private static let padding = UInt8(ascii: "=")
    /// Value of each letter; 255 for other bytes.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for value in 0..<64 { values[Int(alphabet.utf8Start[value])] = UInt8(value) }
        return values
    }()

    public static func encode(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { letters in
            bytes.withUnsafeBufferPointer { bytes in
                guard let source = bytes.baseAddress, let target = letters.baseAddress else { return 0 }
                return encode(source, bytes.count, into: target)
            }
        }
    }

    /// Returns the number of letters written.
    private static func encode(
        _ source: UnsafePointer<UInt8>, _ count: Int, into target: UnsafeMutablePointer<UInt8>
    ) -> Int {
        let letters = alphabet.utf8Start
        var (read, written) = (0, 0)
        while read &+ 2 < count {
            let group = UInt32(source[read]) << 16 | UInt32(source[read &+ 1]) << 8 | UInt32(source[read &+ 2])
            target[written] = letters[Int(group >> 18)]
            target[written &+ 1] = letters[Int(group >> 12 & 63)]
            target[written &+ 2] = letters[Int(group >> 6 & 63)]
            target[written &+ 3] = letters[Int(group & 63)]
            read &+= 3
            written &+= 4
        }
        guard read < count else { return written }
        let hasTwo = read + 1 < count
        let group = UInt32(source[read]) << 16 | (hasTwo ? UInt32(source[read + 1]) << 8 : 0)
        target[written] = letters[Int(group >> 18)]
        target[written + 1] = letters[Int(group >> 12 & 63)]
        target[written + 2] = hasTwo ? letters[Int(group >> 6 & 63)] : padding
        target[written + 3] = padding
        return written + 4
    }

    /// Decodes whole groups with padding and without stray bits; returns nil for anything else.
    public static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { letters in
            guard letters.count % 4 == 0 else { return nil }
            var isWhole = true
            let bytes = [UInt8](unsafeUninitializedCapacity: letters.count / 4 * 3) { bytes, count in
                guard let source = letters.baseAddress, let target = bytes.baseAddress else { return }
                let written = decode(source, letters.count, into: target)
                isWhole = written != nil
                count = written ?? 0
            }
            return isWhole ? bytes : nil
        }
    }

    /// Returns the number of bytes written.
    private static func decode(
        _ source: UnsafePointer<UInt8>, _ count: Int, into target: UnsafeMutablePointer<UInt8>
    ) -> Int? {
        values.withUnsafeBufferPointer { values in
            var (read, written) = (0, 0)
            while read < count {
                let first = values[Int(source[read])]
                let second = values[Int(source[read &+ 1])]
                let third = values[Int(source[read &+ 2])]
                let fourth = values[Int(source[read &+ 3])]
                guard first | second | third | fourth < 64 else { break }
                target[written] = first << 2 | second >> 4
                target[written &+ 1] = second << 4 | third >> 2
                target[written &+ 2] = third << 6 | fourth
                read &+= 4
                written &+= 3
            }
            guard read < count else { return written }
            // Only padding may follow.
            guard read + 4 == count, source[read + 3] == padding else { return nil }
            let first = values[Int(source[read])]
            let second = values[Int(source[read + 1])]
            guard first | second < 64 else { return nil }
            target[written] = first << 2 | second >> 4
            if source[read + 2] == padding { return second & 15 == 0 ? written + 1 : nil }
            let third = values[Int(source[read + 2])]
            guard third < 64, third & 3 == 0 else { return nil }
            target[written + 1] = second << 4 | third >> 2
            return written + 2
        }
    }
}

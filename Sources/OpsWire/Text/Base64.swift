/// RFC 4648 base64 with padding: how Log sends bytes.
public enum Base64 {
    private static let alphabet = StaticString("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        let capacity = (bytes.count + 2) / 3 * 4
        return String(unsafeUninitializedCapacity: capacity) { buffer in
            let letters = alphabet.utf8Start
            var group: UInt32 = 0
            var held = 0
            var count = 0
            for byte in bytes {
                group = group << 8 | UInt32(byte)
                held += 1
                guard held == 3 else { continue }
                for shift in [18, 12, 6, 0] as [UInt32] {
                    buffer[count] = letters[Int(group >> shift & 63)]
                    count += 1
                }
                (group, held) = (0, 0)
            }
            guard held > 0 else { return count }
            group <<= UInt32(8 * (3 - held))
            for index in 0..<4 {
                buffer[count] = index <= held ? letters[Int(group >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "=")
                count += 1
            }
            return count
        }
    }

    /// Nil for anything but whole, padded groups without stray bits.
    public static func decode(_ text: String) -> [UInt8]? {
        let letters = text.utf8
        guard letters.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(letters.count / 4 * 3)
        var group: UInt32 = 0
        var held = 0
        var padding = 0
        for letter in letters {
            if letter == UInt8(ascii: "=") {
                padding += 1
                group <<= 6
            } else {
                guard padding == 0, let value = value(of: letter) else { return nil }
                group = group << 6 | value
            }
            held += 1
            guard held == 4 else { continue }
            guard padding <= 2, padding == 0 || group & (1 << UInt32(8 * padding) - 1) == 0 else { return nil }
            for index in 0..<3 - padding { bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * index))) }
            // Nothing may follow a padded group.
            if padding > 0 { padding = 3 }
            (group, held) = (0, 0)
        }
        return bytes
    }

    private static func value(of letter: UInt8) -> UInt32? {
        switch letter {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a") + 26)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0") + 52)
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

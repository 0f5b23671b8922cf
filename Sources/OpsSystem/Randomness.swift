internal import COpsSpawn

/// Random numbers of the kernel.
public enum Randomness {
    static func bytes(_ count: Int) throws(SystemError) -> [UInt8] {
        var filled: [UInt8] = []
        while filled.count < count {
            var chunk = [UInt8](repeating: 0, count: count - filled.count)
            let got = try retrying("getrandom") { unsafe ops_random(&chunk, chunk.count) }
            filled += chunk.prefix(got)
        }
        return filled
    }

    /// Returns 128 random bits as 32 hexadecimal digits: a unique name.
    public static func identifier() throws(SystemError) -> String {
        try bytes(16).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}

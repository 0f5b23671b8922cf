internal import Glibc

/// An extended regular expression of POSIX, as for grep -E, that is matched against lines of bytes.
final class LinePattern {
    private var compiled = regex_t()

    /// Returns the pattern, or the error in the expression.
    static func compile(_ expression: String) -> Result<LinePattern, Problem> {
        let pattern = LinePattern()
        let code = unsafe regcomp(&pattern.compiled, expression, REG_EXTENDED)
        if code == 0 { return .success(pattern) }
        let text = unsafe String(unsafeUninitializedCapacity: 256) { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { characters in
                // The returned length includes the terminating zero.
                unsafe max(0, min(256, regerror(code, &pattern.compiled, characters.baseAddress, 256)) - 1)
            }
        }
        return .failure(Problem(text: text))
    }

    struct Problem: Error {
        let text: String
    }

    private init() {}

    deinit { unsafe regfree(&compiled) }

    func isFound(in line: ArraySlice<UInt8>) -> Bool {
        unsafe line.withUnsafeBytes { bytes in
            // An empty buffer has no address.
            guard let start = bytes.baseAddress else { return unsafe regexec(&compiled, "", 0, nil, 0) == 0 }
            var range = regmatch_t(rm_so: 0, rm_eo: Int32(clamping: bytes.count))
            return unsafe regexec(&compiled, start.assumingMemoryBound(to: CChar.self), 1, &range, REG_STARTEND) == 0
        }
    }
}

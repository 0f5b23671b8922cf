// Compiled by scripts/fuzz into each fuzzer; not part of the package.

/// Input of a fuzzer: the first byte chooses the meaning of the rest.
struct FuzzInput {
    let choice: UInt8
    let bytes: [UInt8]

    init?(_ data: UnsafePointer<UInt8>?, _ size: Int) {
        let input = UnsafeBufferPointer(start: data, count: size)
        guard let first = input.first else { return nil }
        choice = first
        bytes = Array(input.dropFirst())
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Pieces between bytes 0xff, which no text contains.
    var pieces: [[UInt8]] {
        bytes.split(separator: 0xff, omittingEmptySubsequences: false).map { Array($0) }
    }
}

/// Returns nil for a refusal, which is the result for most inputs: only crashes and broken promises count.
func outcome<Value, Failure: Error>(_ body: () throws(Failure) -> Value) -> Value? {
    do throws(Failure) { return try body() } catch { return nil }
}

internal import OpsSystem

/// Bytes of a response that become available over time. The connection is suspended while there are none.
final class ByteStream {
    private var buffer = OutputBuffer()
    private(set) var isEnded = false
    /// Called when all bytes have been taken.
    var drained: () -> Void = {}
    /// Called when bytes arrive after `take` has found none.
    var arrived: () -> Void = {}

    /// Bytes that the reader has not taken.
    var count: Int { buffer.count }

    func append(_ bytes: [UInt8]) {
        guard !isEnded, !bytes.isEmpty else { return }
        buffer.append(bytes)
        arrived()
    }

    func end() {
        guard !isEnded else { return }
        isEnded = true
        arrived()
    }

    /// Moves bytes to a reader: as many as fit.
    func take(into target: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(target.count, buffer.count)
        guard count > 0 else { return 0 }
        unsafe target.copyBytes(from: buffer.rest.prefix(count))
        buffer.drop(count)
        if buffer.isEmpty { drained() }
        return count
    }
}

/// Cuts a stream of bytes into messages, each ended by a NUL. No byte is looked at twice.
public struct FrameDecoder: Sendable {
    public struct TooLarge: Error, Equatable, Sendable {
        public let limit: Int
    }

    let limit: Int
    private var buffer: [UInt8] = []
    /// Place where the first message that has not been taken begins.
    private var start = 0
    /// Up to where there is no NUL.
    private var searched = 0

    public init(limit: Int = Limits.frameBytes) { self.limit = limit }

    /// Bytes that are held: what has not been taken yet.
    public var buffered: Int { buffer.count - start }

    /// True if a message has begun and not ended (after `next` gave nil).
    public var isInsideMessage: Bool { buffered > 0 }

    public mutating func append(_ bytes: [UInt8]) {
        dropTaken()
        if buffer.isEmpty { buffer = bytes } else { buffer.append(contentsOf: bytes) }
    }

    /// The next whole message without its NUL, or nil until more bytes have come.
    public mutating func next() throws(TooLarge) -> [UInt8]? {
        guard let end = firstNUL() else {
            searched = buffer.count
            if buffered > limit { throw TooLarge(limit: limit) }
            return nil
        }
        guard end - start <= limit else { throw TooLarge(limit: limit) }
        guard start == 0, end + 1 == buffer.count, end >= Self.largeMessage else {
            let message = Array(buffer[start..<end])
            start = end + 1
            searched = start
            if start == buffer.count { reset() }
            return message
        }
        // A large message alone in the buffer takes the buffer with it and is not copied.
        var message: [UInt8] = []
        swap(&message, &buffer)
        message.removeLast()
        reset()
        return message
    }

    /// Messages and buffers below this are small: a buffer of that size is kept for the next message.
    private static let largeMessage = 64 << 10

    private func firstNUL() -> Int? {
        buffer.withUnsafeBufferPointer { bytes in
            var index = searched
            while index < bytes.count {
                if bytes[index] == 0 { return index }
                index += 1
            }
            return nil
        }
    }

    /// Moves what is left to the front, once at least half of the buffer has been taken: linear over all.
    private mutating func dropTaken() {
        guard start > 0, start >= buffer.count - start else { return }
        buffer.removeSubrange(..<start)
        searched -= start
        start = 0
    }

    private mutating func reset() {
        buffer.removeAll(keepingCapacity: buffer.capacity <= 2 * Self.largeMessage)
        start = 0
        searched = 0
    }
}

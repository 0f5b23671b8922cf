/// Splits a stream of bytes into messages that end with NUL. No byte is examined twice.
public struct FrameDecoder: Sendable {
    public struct TooLarge: Error, Equatable, Sendable {
        public let limit: Int
    }

    let limit: Int
    private var buffer: [UInt8] = []
    /// Offset of the first message that has not been returned.
    private var start = 0
    /// Offset up to which there is no NUL.
    private var searched = 0

    public init(limit: Int = Limits.frameBytes) { self.limit = limit }

    /// Number of buffered bytes.
    public var buffered: Int { buffer.count - start }

    /// True if the buffer contains an incomplete message (after `next` has returned nil).
    public var isInsideMessage: Bool { buffered > 0 }

    public mutating func append(_ bytes: [UInt8]) {
        dropReturned()
        if buffer.isEmpty { buffer = bytes } else { buffer.append(contentsOf: bytes) }
    }

    /// Returns the next complete message without its NUL, or nil if more bytes are needed.
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
        // A large message that fills the buffer takes the buffer itself, so it is not copied.
        var message: [UInt8] = []
        swap(&message, &buffer)
        message.removeLast()
        reset()
        return message
    }

    /// Size from which a message is large. A smaller buffer is kept for the next message.
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

    /// Moves the rest to the front when at least half of the buffer has been returned, so the total cost is linear.
    private mutating func dropReturned() {
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

internal import Glibc
internal import OpsSystem

/// Buffered standard output: rows are written in large pieces, and a failed write is an error.
final class StandardOutput: LineSink {
    private var buffer: [UInt8] = []
    private let descriptor: Int32
    /// True if lines are JSON for a terminal.
    private let escapesInvisible: Bool
    private let charset: Charset
    private static let flushAt = 1 << 16

    init(descriptor: Int32 = STDOUT_FILENO, escapesInvisible: Bool = false, charset: Charset = .unicode) {
        self.descriptor = descriptor
        self.escapesInvisible = escapesInvisible
        self.charset = charset
    }

    private func append(_ text: String) {
        if charset == .unicode { buffer.append(contentsOf: text.utf8) } else { buffer += charset.bytes(of: text) }
    }

    func write(_ text: String) throws(Failure) {
        append(text)
        if buffer.count >= Self.flushAt { try flush() }
    }

    func line(_ text: String) throws(Failure) {
        if escapesInvisible { return try line(text.utf8) }
        append(text)
        buffer.append(0x0a)
        if buffer.count >= Self.flushAt { try flush() }
    }

    func write(_ bytes: some Collection<UInt8>) throws(Failure) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.flushAt { try flush() }
    }

    func line(_ bytes: some Collection<UInt8>) throws(Failure) {
        if escapesInvisible {
            buffer.append(contentsOf: JSONText.escapingInvisible(Array(bytes)))
        } else {
            buffer.append(contentsOf: bytes)
        }
        buffer.append(0x0a)
        if buffer.count >= Self.flushAt { try flush() }
    }

    func flush() throws(Failure) {
        var start = 0
        while start < buffer.count {
            let written = buffer.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress?.advanced(by: start), $0.count - start)
            }
            if written >= 0 {
                start += written
            } else if errno == EAGAIN {
                awaitRoom(descriptor)
            } else if errno != EINTR {
                buffer.removeAll()
                throw Failure(.unsuccessful, "standard output", SystemError.text(errno), nil)
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// Standard error: unbuffered; failed writes are ignored.
enum StandardError {
    static func line(_ text: String) { write(Array((text + "\n").utf8)) }

    static func write(_ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count {
            let written = bytes.withUnsafeBytes {
                Glibc.write(STDERR_FILENO, $0.baseAddress?.advanced(by: start), $0.count - start)
            }
            if written < 0 {
                if errno == EAGAIN { awaitRoom(STDERR_FILENO) } else if errno != EINTR { return }
            }
            start += max(0, written)
        }
    }
}

/// Another process that shares the descriptor has made it non-blocking.
private func awaitRoom(_ descriptor: Int32) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&entry, 1, -1)
}

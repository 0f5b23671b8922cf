internal import COpsSpawn
internal import Glibc

/// Open file descriptor with one owner. It is closed at the end of its owner.
public struct Descriptor: ~Copyable, Sendable {
    public let rawValue: Int32

    /// Takes over a descriptor. No other code may close it.
    public init(owning rawValue: Int32) {
        precondition(rawValue >= 0, "a descriptor is never negative")
        self.rawValue = rawValue
    }

    /// Returns a second descriptor of an open file. The first one stays open.
    public static func duplicate(of number: Int32) throws(SystemError) -> Descriptor {
        Descriptor(owning: try retrying("duplicate descriptor \(number)") { fcntl(number, F_DUPFD_CLOEXEC, 3) })
    }

    /// Closes the descriptor. There is no retry after EINTR: Linux has freed the number by then.
    deinit { close(rawValue) }

    /// Passes the descriptor to another owner (a C library, an array).
    public consuming func release() -> Int32 {
        let value = rawValue
        discard self
        return value
    }

    public borrowing func setNonBlocking(_ nonBlocking: Bool) throws(SystemError) {
        let rawValue = rawValue
        let flags = try retrying("fcntl") { fcntl(rawValue, F_GETFL) }
        let wanted = nonBlocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
        try retrying("fcntl") { fcntl(rawValue, F_SETFL, wanted) }
    }

    /// Cuts a file off at a length.
    public borrowing func truncate(to length: Int64) throws(SystemError) {
        let rawValue = rawValue
        try retrying("truncate") { ftruncate(rawValue, Int(length)) }
    }

    /// Sets whether a program that this process becomes or starts finds the descriptor open.
    public borrowing func setInherited(_ inherited: Bool) throws(SystemError) {
        let rawValue = rawValue
        try retrying("fcntl") { fcntl(rawValue, F_SETFD, inherited ? 0 : FD_CLOEXEC) }
    }
}

/// Result of one read or write.
public enum Transfer: Hashable, Sendable {
    case moved(Int)
    /// The descriptor is non-blocking, and no byte can be moved now.
    case wouldBlock
    /// The other side is closed: end of file for a read, no reader for a write.
    case ended
}

extension Descriptor {
    /// Reads at most `count` bytes to the end of `buffer`.
    public borrowing func read(atMost count: Int, onto buffer: inout [UInt8]) throws(SystemError) -> Transfer {
        let rawValue = rawValue
        do throws(SystemError) {
            return try unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) {
                (bytes) throws(SystemError) in
                let count = try retrying("read") { unsafe Glibc.read(rawValue, bytes.baseAddress, count) }
                if count == 0 { return .ended }
                unsafe buffer.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[..<count]))
                return .moved(count)
            }
        } catch {
            return try Descriptor.transfer(error)
        }
    }

    /// Writes `bytes`, or a part of them. Never raises SIGPIPE on sockets.
    public borrowing func write(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Transfer {
        let rawValue = rawValue
        do throws(SystemError) {
            return .moved(
                try retrying("write") {
                    unsafe bytes.withUnsafeBytes { raw in
                        let sent = unsafe send(rawValue, raw.baseAddress, raw.count, Int32(MSG_NOSIGNAL))
                        // Files and pipes.
                        if sent < 0 && errno == ENOTSOCK {
                            return unsafe Glibc.write(rawValue, raw.baseAddress, raw.count)
                        }
                        return sent
                    }
                })
        } catch {
            return try Descriptor.transfer(error)
        }
    }

    /// Writes as `write` does, and passes another descriptor with the bytes. The receiver gets a second descriptor of the
    /// same open file.
    public borrowing func write(
        _ bytes: ArraySlice<UInt8>, passing other: borrowing Descriptor
    ) throws(SystemError) -> Transfer {
        let (rawValue, passed) = (rawValue, other.rawValue)
        do throws(SystemError) {
            return .moved(
                try retrying("send descriptor") {
                    unsafe bytes.withUnsafeBytes { raw in
                        unsafe ops_send_descriptor(rawValue, raw.baseAddress, raw.count, passed)
                    }
                })
        } catch {
            return try Descriptor.transfer(error)
        }
    }

    /// Reads as `read` does. A descriptor that was passed with the bytes is stored in `passed`.
    public borrowing func read(
        atMost count: Int, onto buffer: inout [UInt8], passed: inout Descriptor?
    ) throws(SystemError) -> Transfer {
        let rawValue = rawValue
        var failure: SystemError?
        var number: Int32 = -1
        let fresh = unsafe [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
            do throws(SystemError) {
                initialized = try retrying("receive") {
                    unsafe ops_receive_descriptor(rawValue, bytes.baseAddress, count, &number)
                }
            } catch {
                failure = error
            }
        }
        if number >= 0 { passed = Descriptor(owning: number) }
        if let failure { return try Descriptor.transfer(failure) }
        if fresh.isEmpty { return .ended }
        buffer.append(contentsOf: fresh)
        return .moved(fresh.count)
    }

    /// Writes all of `bytes`, and blocks until that is done. Returns `false` if the other side is closed.
    public borrowing func writeAll(_ bytes: [UInt8]) throws(SystemError) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch try write(rest) {
            case .moved(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try waitUntil(.writable)
            case .ended: return false
            }
        }
        return true
    }

    /// Blocks until the descriptor is ready, for at most `milliseconds` (`nil`: without a limit).
    @discardableResult
    public borrowing func waitUntil(_ readiness: Readiness, milliseconds: Int32? = nil) throws(SystemError) -> Bool {
        var entry = pollfd(fd: rawValue, events: Int16(truncatingIfNeeded: readiness.rawValue), revents: 0)
        let count = try retrying("poll") { unsafe poll(&entry, 1, milliseconds ?? -1) }
        return count > 0
    }

    private static func transfer(_ error: SystemError) throws(SystemError) -> Transfer {
        switch error.errno {
        case EAGAIN: return .wouldBlock
        case ECONNRESET, EPIPE: return .ended
        default: throw error
        }
    }
}

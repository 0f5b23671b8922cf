internal import COpsSpawn
internal import Glibc

/// Receiving end of `NOTIFY_SOCKET`.
public struct NotifySocket: ~Copyable {
    /// Value of the variable. With `@` in front it is an abstract address.
    public let address: String
    public let descriptor: Descriptor
    /// Longest message that is read, in bytes.
    static let messageLimit = 16_384

    public init(address: String) throws(SystemError) {
        let number = try retrying("bind \(address)") { unsafe ops_notify_socket(address) }
        self.address = address
        self.descriptor = Descriptor(owning: number)
    }

    /// Takes over a socket that this process opened before it re-executed itself.
    public init(address: String, descriptor: consuming Descriptor) {
        self.address = address
        self.descriptor = descriptor
    }

    /// Drops the messages that wait, before the descriptor is closed.
    deinit { ops_notify_end(descriptor.rawValue) }

    public struct Message: Sendable {
        /// Sender, as recorded by the kernel.
        public var sender: Credentials
        /// Empty when the message was longer than `messageLimit`.
        public var text: String
    }

    /// Receives the next message; `nil`: there is none now.
    public borrowing func receive() throws(SystemError) -> Message? {
        var sender = ops_credentials()
        var truncated: Int32 = 0
        let number = descriptor.rawValue
        var text = ""
        // Not an array, which would be cleared: this is called at the end of every operation, mostly without a message.
        let count = unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: NotifySocket.messageLimit) {
            buffer in
            while true {
                let count = unsafe ops_notify_receive(
                    number, buffer.baseAddress, buffer.count, &sender, &truncated)
                if count < 0 && errno == EINTR { continue }
                if count > 0 && truncated == 0 { text = unsafe String(decoding: buffer[..<count], as: UTF8.self) }
                return count
            }
        }
        if count < 0 {
            if errno == EAGAIN { return nil }
            throw .last("receive notification")
        }
        return Message(sender: Credentials(pid: sender.pid, uid: sender.uid, gid: sender.gid), text: text)
    }
}

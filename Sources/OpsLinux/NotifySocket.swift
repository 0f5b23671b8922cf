internal import COpsSpawn
internal import Glibc

/// The receiving end of `NOTIFY_SOCKET`.
public struct NotifySocket: ~Copyable {
    /// What the variable is set to; with `@` in front it is an abstract address.
    public let address: String
    public let descriptor: Descriptor
    /// The longest message that is read whole.
    public static let messageLimit = 16_384

    public init(address: String) throws(SystemError) {
        let number = try retrying("bind \(address)") { unsafe ops_notify_socket(address) }
        self.address = address
        self.descriptor = Descriptor(owning: number)
    }

    /// Takes over a socket that this process had before it re-executed itself.
    public init(address: String, descriptor: consuming Descriptor) {
        self.address = address
        self.descriptor = descriptor
    }

    public struct Message: Sendable {
        /// Who sent it, as the kernel vouches.
        public var sender: Credentials
        /// Empty when the message was longer than `messageLimit`.
        public var text: String
    }

    /// The next message; `nil`: there is none now.
    public borrowing func receive() throws(SystemError) -> Message? {
        var buffer = [UInt8](repeating: 0, count: NotifySocket.messageLimit)
        var sender = ops_credentials()
        var truncated: Int32 = 0
        let number = descriptor.rawValue
        do throws(SystemError) {
            let count = try retrying("receive notification") {
                unsafe ops_notify_receive(number, &buffer, buffer.count, &sender, &truncated)
            }
            return Message(
                sender: Credentials(pid: sender.pid, uid: sender.uid, gid: sender.gid),
                text: truncated == 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : "")
        } catch {
            if error.errno == EAGAIN { return nil }
            throw error
        }
    }
}

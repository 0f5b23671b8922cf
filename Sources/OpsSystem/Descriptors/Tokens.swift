internal import COpsSpawn
internal import Glibc

/// A heap of equal tokens that two processes share: each one is taken by either of them, once.
public struct Tokens: ~Copyable {
    public let descriptor: Descriptor

    public init() throws(SystemError) {
        descriptor = Descriptor(owning: try retrying("eventfd") { ops_semaphore() })
    }

    /// The same heap, as it came from the other process.
    public init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    public borrowing func add() throws(SystemError) {
        let number = descriptor.rawValue
        try retrying("add token") { ops_semaphore_add(number) }
    }

    /// `false`: there is none left.
    public borrowing func take() throws(SystemError) -> Bool {
        let number = descriptor.rawValue
        do throws(SystemError) {
            try retrying("take token") { ops_semaphore_take(number) }
            return true
        } catch {
            if error.errno == EAGAIN { return false }
            throw error
        }
    }
}

internal import COpsSpawn
internal import Glibc

/// Semaphore that two processes, or two threads, share: each token is acquired by one of them, once.
public struct Tokens: ~Copyable, Sendable {
    public let descriptor: Descriptor

    /// Makes a semaphore with a number of tokens.
    public init(_ count: UInt32 = 0) throws(SystemError) {
        descriptor = Descriptor(owning: try retrying("eventfd") { ops_semaphore(count) })
    }

    /// Opens the semaphore that came from the other process.
    public init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    public borrowing func add() throws(SystemError) {
        let number = descriptor.rawValue
        try retrying("add token") { ops_semaphore_add(number) }
    }

    /// Acquires a token. Returns `false` if there is none.
    public borrowing func acquire() throws(SystemError) -> Bool {
        let number = descriptor.rawValue
        do throws(SystemError) {
            try retrying("acquire token") { ops_semaphore_take(number) }
            return true
        } catch {
            if error.errno == EAGAIN { return false }
            throw error
        }
    }
}

import Glibc
import OpsSystem
import OpsSystemd
import Testing

/// Runs turns until `condition` holds, for at most ten seconds.
func turn(_ loop: EventLoop, until condition: () -> Bool) throws {
    let end = Clock.read().monotonic + .seconds(10)
    while !condition() {
        try #require(Clock.read().monotonic < end, "what was waited for did not happen")
        try loop.turn(timeout: 100_000)
    }
}

struct Missing: Error {}

/// Unwraps a value that is not copyable, which `#require` does not accept.
func accepted(_ listener: borrowing Descriptor) throws -> Descriptor {
    guard let socket = try UnixSocket.accept(from: listener) else { throw Missing() }
    return socket
}

func canAccept(_ listener: borrowing Descriptor) throws -> Bool {
    guard let socket = try UnixSocket.accept(from: listener) else { return false }
    _ = consume socket
    return true
}

func canTakeLock(_ path: String) throws -> Bool {
    guard let lock = try FileLock.acquire(path) else { return false }
    _ = consume lock
    return true
}

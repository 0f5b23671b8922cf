import Glibc
import OpsSystem
import OpsSystemd
import Testing

/// A directory of one test, gone with it.
final class Scratch {
    let path: String

    init() throws {
        path = "/tmp/ops-linux-\(try Randomness.identifier().prefix(12))"
        try Files.makePrivateDirectory(path)
    }

    deinit {
        // A test that leaves files behind has failed or is done: nothing depends on their removal.
        for name in (try? Files.list(path)) ?? [] { unlink(path + "/" + name) }
        rmdir(path)
    }
}

/// Turns until `condition` holds, for ten seconds at most.
func turn(_ loop: EventLoop, until condition: () -> Bool) throws {
    let end = Clock.read().monotonic + 10_000_000_000
    while !condition() {
        try #require(Clock.read().monotonic < end, "what was waited for did not happen")
        try loop.turn(timeout: 100_000)
    }
}

struct Missing: Error {}

/// `#require` cannot take what is not copyable.
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
    guard let lock = try FileLock.take(path) else { return false }
    _ = consume lock
    return true
}

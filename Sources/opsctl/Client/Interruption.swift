internal import Glibc
internal import Synchronization

/// Descriptor to which the handler writes the number of the signal; -1 until signals are watched.
private let handlerEnd = Atomic<Int32>(-1)
/// Requests to end that nobody has taken yet.
private let untaken = Atomic<Int32>(0)

/// Signals that are met between two steps of ours instead of ending us: each arrives as a byte in a pipe.
struct Interruption {
    private let readEnd: Int32

    /// From now on these signals end nothing; they are there for `take`. One watcher at a time. A caller that asks again
    /// before the first was taken (the daemon does not answer) ends the program as if nobody watched.
    init(_ signals: [Int32]) throws(Failure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw Failure(.unsuccessful, "pipe", "too many open files", "raise the limit with ulimit -n")
        }
        readEnd = ends[0]
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        handlerEnd.store(ends[1], ordering: .sequentiallyConsistent)
        for number in signals where !Self.isIgnored(number) {
            var action = sigaction()
            action.sa_flags = SA_RESTART
            action.__sigaction_handler.sa_handler = { number in
                let kept = errno
                if number != SIGWINCH, untaken.add(1, ordering: .sequentiallyConsistent).oldValue > 0 {
                    // Taken by its default action as soon as this handler returns.
                    signal(number, SIG_DFL)
                    raise(number)
                }
                var byte = UInt8(truncatingIfNeeded: number)
                // A full pipe means that as many signals are waiting already.
                _ = write(handlerEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
                errno = kept
            }
            sigaction(number, &action, nil)
        }
    }

    /// Returns true if the parent ignored the signal: `nohup`, or a shell that runs opsctl in the background.
    private static func isIgnored(_ number: Int32) -> Bool {
        var current = sigaction()
        guard sigaction(number, nil, &current) == 0 else { return false }
        return unsafeBitCast(current.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// The next signal that came.
    func take() -> Int32? {
        var byte: UInt8 = 0
        untaken.store(0, ordering: .sequentiallyConsistent)
        return read(readEnd, &byte, 1) == 1 ? Int32(byte) : nil
    }

    /// Waits until one of the descriptors can be read, `writable` can be written, a watched signal came or the time is
    /// over; answers which descriptors can be read.
    func wait(_ descriptors: [Int32], writable: Int32 = -1, milliseconds: Int32? = nil) -> [Int] {
        Readable.among(descriptors + [readEnd], writable: writable, milliseconds: milliseconds).filter {
            $0 < descriptors.count
        }
    }
}

enum Readable {
    /// Returns the indices of the descriptors that can be read, after waiting for one.
    static func among(_ descriptors: [Int32], writable: Int32 = -1, milliseconds: Int32? = nil) -> [Int] {
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        if writable >= 0 { entries.append(pollfd(fd: writable, events: Int16(POLLOUT), revents: 0)) }
        let count = poll(&entries, nfds_t(entries.count), milliseconds ?? -1)
        return count <= 0 ? [] : descriptors.indices.filter { entries[$0].revents != 0 }
    }
}

internal import Glibc
internal import Synchronization

/// Descriptor to which the handler writes the number of a signal; -1 until signals are watched.
private let handlerEnd = Atomic<Int32>(-1)
/// Number of requests to end that have not been taken yet.
private let untaken = Atomic<Int32>(0)

/// Signals that do not end the program but arrive as bytes in a pipe, to be handled between two steps.
struct Interruption {
    private let readEnd: Int32

    /// Watches these signals; `nextSignal` returns them. Only one instance can watch at a time.
    ///
    /// If a second signal arrives before the first was returned (because the submission is not answered yet), it ends
    /// the program as if nothing watched. A signal that arrives while a cancel is unanswered waits for the answer; one
    /// more ends the program.
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
                    // The default action ends the program when this handler returns.
                    signal(number, SIG_DFL)
                    raise(number)
                }
                var byte = UInt8(truncatingIfNeeded: number)
                // A full pipe already holds enough signals.
                _ = write(handlerEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
                errno = kept
            }
            sigaction(number, &action, nil)
        }
    }

    /// Returns true if the parent ignored the signal, as `nohup` does, or a shell that runs opsctl in the background.
    private static func isIgnored(_ number: Int32) -> Bool {
        var current = sigaction()
        guard sigaction(number, nil, &current) == 0 else { return false }
        return unsafeBitCast(current.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Returns the next signal that has arrived.
    func nextSignal() -> Int32? {
        var byte: UInt8 = 0
        untaken.store(0, ordering: .sequentiallyConsistent)
        return read(readEnd, &byte, 1) == 1 ? Int32(byte) : nil
    }

    /// Returns why opsctl ends before the operations that an earlier signal has cancelled.
    static func secondSignal(_ signal: Int32) -> Failure {
        Failure(ExitStatus(code: 128 + signal), "run", "a second signal arrived while the cancelled work was ending")
    }

    /// Returns the reason of a cancellation by a signal.
    static func reason(_ signal: Int32) -> String {
        signal == SIGINT ? "interrupted at the terminal" : "signal \(signal) to opsctl run"
    }

    /// Waits until one of the descriptors can be read, `writable` can be written, a watched signal has arrived, or the
    /// time is over. Returns the descriptors that can be read.
    func wait(_ descriptors: [Int32], writable: Int32 = -1, milliseconds: Int32? = nil) -> [Int] {
        Readable.among(descriptors + [readEnd], writable: writable, milliseconds: milliseconds).filter {
            $0 < descriptors.count
        }
    }
}

enum Readable {
    /// Waits until a descriptor is ready or the time is over, and returns the indices of those that can be read.
    static func among(_ descriptors: [Int32], writable: Int32 = -1, milliseconds: Int32? = nil) -> [Int] {
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        if writable >= 0 { entries.append(pollfd(fd: writable, events: Int16(POLLOUT), revents: 0)) }
        let count = poll(&entries, nfds_t(entries.count), milliseconds ?? -1)
        return count <= 0 ? [] : descriptors.indices.filter { entries[$0].revents != 0 }
    }
}

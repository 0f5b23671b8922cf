internal import Glibc
internal import OpsSystem

/// Time to wait for a daemon that is gone: long enough for a restart.
struct Patience {
    private static let whole = TimeSpan.seconds(60)
    private static let pause: UInt32 = 200_000
    private var end: MonotonicInstant?

    /// Pauses before the next attempt. Throws the error if the time is over, or at once if the error is not a lost
    /// connection.
    mutating func pause(after error: ClientError) throws(ClientError) {
        switch error {
        case .lost, .unreachable: break
        default: throw error
        }
        let now = Clock.read().monotonic
        let end = end ?? now + Self.whole
        self.end = end
        guard now < end else { throw error }
        usleep(Self.pause)
    }
}

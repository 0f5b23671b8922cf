internal import Glibc
internal import OpsSystem

/// Time for which a daemon that is gone is waited for: long enough for a restart.
struct Patience {
    private static let whole: Int64 = 60_000_000_000
    private static let pause: UInt32 = 200_000
    private var end: Int64?

    /// Pauses before the next attempt; throws the error when the time is over, and at once if it says no end of a
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

/// Constants of the launch protocol between opsd and opsd-runner.
///
/// A frame is a length (4 bytes, little-endian, of what follows), a kind (1 byte) and the fields of that kind.
/// Both sides greet at once with `hello` and its version. Within a version, and to the next, fields are only ever
/// appended: a reader passes over what it does not know and takes the default for what is not there. So each side
/// understands the other when it is at most one version older or newer.
public enum RunnerProtocol {
    /// Version that this program speaks. 2: staged launches, and the runner sets OPS_SLOT. 3: pings.
    public static let version: UInt16 = 3
    /// First version with staged launches.
    public static let versionWithStaging: UInt16 = 2
    /// First version that answers pings.
    public static let versionWithPings: UInt16 = 3
    /// First field of every `hello`, so that a program that connects by mistake is refused at once.
    static let magic: UInt32 = 0x5250_534F
    /// Longest frame in bytes. Arguments and environment of a launch are the largest fields.
    static let frameLimit = 64 << 20
    /// Name of the socket in the state directory.
    public static let socketName = "runner.sock"
    /// Name of the file that the runner of a state directory has locked.
    static let lockName = "runner.lock"

    /// Longest delay of a report that opsd does not wait for, in nanoseconds.
    static let longestReportDelay: Int64 = 2_000_000

    public static func understands(_ other: UInt16) -> Bool {
        // Any number may come, the largest too.
        max(other, version) - min(other, version) <= 1
    }
}

/// Violation of the protocol. The connection cannot be used any further.
public enum ProtocolError: Error, Hashable, Sendable {
    case truncated
    case tooLarge(Int)
    case unknownMessage(UInt8)
    case badValue(String)
    case wrongMagic
}

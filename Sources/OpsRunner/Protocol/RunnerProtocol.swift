/// What opsd and opsd-runner agree on before the first message.
///
/// A frame is a length (4 bytes, little-endian, of what follows), a kind (1 byte) and the fields of that kind.
/// Both sides greet at once with `hello` and its version. Within a version, and to the next, fields are only ever
/// appended: a reader passes over what it does not know and takes the default for what is not there. So each side
/// understands the other when it is at most one version older or newer.
public enum RunnerProtocol {
    /// 2: the hand, and OPS_SLOT is the runner's to say. 3: pings.
    public static let version: UInt16 = 3
    /// The first version that knows of the hand.
    public static let versionWithHand: UInt16 = 2
    /// The first version that answers pings.
    public static let versionWithPings: UInt16 = 3
    /// Every hello starts with it: whoever talks here by mistake is noticed at once.
    static let magic: UInt32 = 0x5250_534F
    /// The arguments and the environment of one launch are the largest thing sent.
    static let frameLimit = 64 << 20
    /// The socket's name in the state directory.
    public static let socketName = "runner.sock"
    /// Held by the one runner of a state directory.
    static let lockName = "runner.lock"

    /// Nanoseconds that a report nobody waits for may wait for another to go with.
    static let patience: Int64 = 2_000_000

    public static func understands(_ other: UInt16) -> Bool {
        // Any number may come, the largest too.
        max(other, version) - min(other, version) <= 1
    }
}

/// What was received is not what the protocol allows; the connection is of no more use.
public enum ProtocolError: Error, Hashable, Sendable {
    case truncated
    case tooLarge(Int)
    case unknownMessage(UInt8)
    case badValue(String)
    case wrongMagic
}

public import OpsSystem

/// Constants of the launch protocol between opsd and its executors: opsd-runner, opsd-slurm and others.
///
/// A frame is a length (4 bytes, little-endian, of the rest), a kind (1 byte) and the fields of that kind. Records within
/// the fields have lengths of their own, which a mark in the kind tells. Both sides first send `hello` with their version.
/// Within a version, and from one version to the next, fields are only appended to messages and to records: a reader skips
/// unknown fields and takes the default of missing ones. So each side understands the other if that one is at most one
/// version older or newer. A side sends the lengths of records only to a program of version 4 or newer.
public enum LaunchProtocol {
    /// Version that this program speaks. 2: staged launches, and the runner sets OPS_SLOT. 3: pings.
    /// 4: lengths of records, and signals.
    public static let version: UInt16 = 4
    /// First version with staged launches.
    public static let versionWithStaging: UInt16 = 2
    /// First version that answers pings.
    public static let versionWithPings: UInt16 = 3
    /// First version that reads lengths of records.
    static let versionWithRecordLengths: UInt16 = 4
    /// Bit of the kind of a frame whose records have lengths.
    static let recordLengthMark: UInt8 = 0x80
    /// First field of every `hello`, so that a program that connects by mistake is refused at once.
    static let magic: UInt32 = 0x5250_534F
    /// Longest frame in bytes. Arguments and environment of a launch are the largest fields.
    static let frameLimit = 64 << 20
    /// Name of the socket in the state directory. `executor`: the name in opsd.conf; `nil`: the runner.
    public static func socketName(executor: String? = nil) -> String { baseName(executor) + ".sock" }
    /// Name of the file that the executor of a state directory has locked as long as it runs.
    public static func lockName(executor: String? = nil) -> String { baseName(executor) + ".lock" }

    private static func baseName(_ executor: String?) -> String { executor.map { "executor-" + $0 } ?? "runner" }

    /// Longest delay of a report that opsd does not wait for.
    public static let longestReportDelay = TimeSpan.milliseconds(2)

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

extension ProtocolError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .truncated: "a message is shorter than its fields"
        case .tooLarge(let count): "a message of \(count) bytes is too large"
        case .unknownMessage(let kind): "a message has the unknown kind \(kind)"
        case .badValue(let value): "a message has an invalid value: \(value)"
        case .wrongMagic: "a greeting does not begin with the number of this protocol"
        }
    }
}

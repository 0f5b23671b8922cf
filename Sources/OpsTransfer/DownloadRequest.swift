internal import Glibc

/// A file to fetch.
public struct DownloadRequest: Sendable {
    public var address: WebAddress
    /// Path of the file. Its directory must exist.
    public var target: String
    /// The checksum of the whole file, where it is known.
    public var checksum: Checksum?
    /// Headers that are sent only to the origin of `address`.
    public var headers = HeadersFile.none
    /// Path of a file with these headers, if there is one.
    public var headersPath: String?
    /// Bytes per second; 0: no limit.
    public var rateLimit: Int64 = 0
    /// Seconds without a byte after which the attempt fails. Pauses for the limited rate do not count.
    public var stallLimit = 60
    /// Rights with which the file and its partial file are opened; nil: those of the process.
    public var rights: FileRights?
    /// Permissions that a new file does not get.
    public var umask: UInt32 = 0o022

    /// Mask of the process. It can only be read by setting it, and threads must not make files meanwhile.
    public static let processMask: UInt32 = {
        let mask = Glibc.umask(0o777)
        _ = Glibc.umask(mask)
        return UInt32(mask)
    }()

    public init(address: WebAddress, target: String) {
        self.address = address
        self.target = target
    }
}

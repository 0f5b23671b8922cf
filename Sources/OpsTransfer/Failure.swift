internal import Glibc
internal import OpsSystem

/// The reason why a transfer did not finish.
public struct Failure: Error, Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// A later attempt can succeed.
        case retryable
        /// The server sent bytes that differ from what it announced or from what was requested.
        case wrongContent
        /// The server, or this program for the user's protection, does not allow the transfer.
        case refused
        /// The request itself is wrong: an address, a path, a file of headers.
        case usage
    }

    public var kind: Kind
    /// Text without control characters.
    public let message: String
    /// Seconds to wait before the next attempt, where the server said so.
    public var retryAfter: Int64?

    public init(_ kind: Kind, _ message: String, retryAfter: Int64? = nil) {
        self.kind = kind
        self.message = message.printable
        self.retryAfter = retryAfter
    }

    /// Describes a failed call on a local file: one that free space or another attempt can cure, or a wrong request.
    init(_ error: SystemError) {
        switch error.errno {
        case EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EINVAL, EFBIG, EXDEV:
            self.init(.usage, "\(error)")
        default:
            self.init(.retryable, "\(error)")
        }
    }
}

extension String {
    /// The text with a question mark for each control character, with which a server could control a terminal.
    var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }
}

extension Failure.Kind {
    /// Exit status, with the numbers of sysexits.h.
    public var exitStatus: Int32 {
        switch self {
        case .usage: 64
        case .wrongContent: 65
        case .refused: 69
        case .retryable: 75
        }
    }
}

internal import Glibc
internal import OpsSystem

/// Headers of a request that a user has put into a file: one `Name: value` a line.
public struct HeadersFile: Hashable, Sendable {
    /// Whole header lines without their ends.
    let lines: [String]

    /// Maximum size of the file.
    static let limit = 65_536
    /// Headers that would break the transfer, or send a proxy's password to a server.
    static let reserved: Set<String> = [
        "host", "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
        "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect",
        "accept-encoding", "proxy-authorization", "proxy-connection",
    ]

    public static let none = HeadersFile()

    private init() { lines = [] }

    /// Reads the file. It must belong to this user or to root, and be neither readable nor writable by others: it may
    /// contain passwords. A file of root may be readable by its group, to which this user belongs.
    public init(path: String) throws(Failure) {
        let bytes: [UInt8]
        do throws(SystemError) {
            let number = try retrying("open \(path)") {
                unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
            }
            let file = Descriptor(owning: number)
            var status = stat()
            try retrying("examine \(path)") { unsafe fstat(number, &status) }
            // A pipe would keep the reader waiting.
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw SystemError("\(path): not a regular file", errno: EINVAL)
            }
            let others: mode_t = status.st_uid == geteuid() ? 0o066 : 0o026
            guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & others == 0 else {
                throw SystemError("\(path): others can read or change the headers (chmod 600)", errno: EPERM)
            }
            bytes = try HeadersFile.read(file, path)
        } catch {
            throw Failure(error)
        }
        try self.init(text: String(decoding: bytes, as: UTF8.self), path: path)
    }

    private static func read(_ file: borrowing Descriptor, _ path: String) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            guard case .moved = try file.read(atMost: limit + 1, onto: &bytes) else { return bytes }
        }
        throw SystemError("read \(path)", errno: EFBIG)
    }

    init(text: String, path: String) throws(Failure) {
        var lines: [String] = []
        let all = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, bytes) in all.enumerated() where !bytes.isEmpty {
            // Never the line itself: it can hold a password.
            let place = "\(path):\(index + 1)"
            guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw Failure(.usage, "\(place): a header must not contain control characters")
            }
            let line = String(decoding: bytes, as: UTF8.self)
            guard let colon = line.firstIndex(of: ":") else {
                throw Failure(.usage, "\(place): not a header; write Name: value")
            }
            let name = line[..<colon]
            guard !name.isEmpty, name.utf8.allSatisfy(HeadersFile.isTokenByte) else {
                throw Failure(.usage, "\(place): not the name of a header")
            }
            if HeadersFile.reserved.contains(name.lowercased()) {
                throw Failure(.usage, "\(place): the header \(name) cannot be set")
            }
            let value = line[line.index(after: colon)...].trimmed
            // libcurl's way to write an empty value; with a colon it would remove the header.
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        self.lines = lines
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
        }
    }
}

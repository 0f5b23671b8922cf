internal import Glibc

/// The first hundred bytes of a database file, read without SQLite, which could change the file.
struct DatabaseHeader {
    private let bytes: [UInt8]
    private let path: String
    private static let magic = Array("SQLite format 3\0".utf8)

    /// Returns nil if there is no file or an empty one: an opsd has died while it made the file, or the file was
    /// truncated (`refuseTraces`).
    static func read(_ path: String) throws(StoreError) -> DatabaseHeader? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 {
            if errno == ENOENT { return nil }
            throw failure(path)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
        if count < 0 { throw failure(path) }
        if count == 0 { return nil }
        return DatabaseHeader(bytes: Array(bytes.prefix(count)), path: path)
    }

    private static func failure(_ path: String) -> StoreError {
        let code = errno
        return StoreError(
            code == EACCES ? .readOnly : .ioError, "cannot read: \(unsafe String(cString: strerror(code)))", file: path)
    }

    /// `user_version` and `application_id`, where the file format keeps them.
    private var version: Int64 { number(at: 60) }
    private var application: Int64 { number(at: 68) }

    private func number(at offset: Int) -> Int64 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) }
    }

    /// True if opsd has made the file, according to its header.
    var isOurs: Bool { bytes.count == 100 && bytes.starts(with: Self.magic) && application == Migration.applicationID }

    /// Version 0 is left to SQLite: the file may be new, with all of its content still in the write-ahead log.
    func refuseForeign() throws(StoreError) {
        guard bytes.count == 100, bytes.starts(with: DatabaseHeader.magic) else {
            throw StoreError(.notADatabase, "this is not an SQLite database", file: path)
        }
        if version != 0 || application != 0 {
            try Schema.refuse(version: version, application: application, path)
        }
    }
}

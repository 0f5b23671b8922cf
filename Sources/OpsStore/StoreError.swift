/// A failure of the store: the message of SQLite, the file, and advice for people.
public struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Kind: Sendable {
        /// No room left on the device.
        case full
        case ioError
        case readOnly
        /// The file is damaged.
        case corrupt
        /// The file is no database.
        case notADatabase
        /// The file was written by a later version of opsd.
        case newerSchema
        /// Another process uses the file.
        case busy
        /// The read took longer than its time limit.
        case interrupted
        case other
    }
    public var kind: Kind
    public var message: String
    public var file: String
    public var advice: String
    /// True if a running daemon tries again until it succeeds.
    private var passes: Bool

    public init(_ kind: Kind, _ message: String, file: String, advice: String? = nil) {
        self.kind = kind
        self.message = message
        self.file = file
        self.advice = advice ?? StoreError.advice(kind, file)
        passes = advice == nil && [.full, .ioError, .readOnly].contains(kind)
    }

    public var description: String {
        "\(file): \(message): \(advice)" + (passes ? "; work resumes by itself when writing succeeds again" : "")
    }

    /// The same error for a daemon that exits because of it: nothing continues by itself.
    public var atStart: StoreError {
        guard passes else { return self }
        var error = self
        error.passes = false
        error.advice += ", and start opsd again"
        return error
    }

    private static func advice(_ kind: Kind, _ file: String) -> String {
        switch kind {
        case .full: "free some space on its file system"
        case .ioError: "check the disk and the kernel log"
        case .readOnly: "make the file and its directory writable for opsd"
        case .corrupt:
            "nothing was changed; move it away and put a backup in its place (opsctl backup makes them), "
                + "or save what can be read with: sqlite3 \(file) .recover"
        case .notADatabase: "nothing was changed; move it away or start opsd with another --state directory"
        case .newerSchema:
            "nothing was changed; install the newer opsd again, or put back the backup made before the upgrade"
        case .busy: "end the other process that uses it"
        case .other, .interrupted: "see the message; opsctl check shows whether the database is intact"
        }
    }
}

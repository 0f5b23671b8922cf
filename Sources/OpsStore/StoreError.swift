/// Why the store could not do what it was asked: what SQLite said, of which file, and what a person can do about it.
public struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Kind: Sendable {
        /// No room left on the device.
        case full
        case ioError
        case readOnly
        /// The file is damaged.
        case corrupt
        /// Something else has this name.
        case notADatabase
        /// Written by a later version of opsd.
        case newerSchema
        /// Another process holds it.
        case busy
        case other
    }
    public var kind: Kind
    public var message: String
    public var file: String
    public var advice: String

    public init(_ kind: Kind, _ message: String, file: String, advice: String? = nil) {
        self.kind = kind
        self.message = message
        self.file = file
        self.advice = advice ?? StoreError.advice(kind, file)
    }

    public var description: String { "\(file): \(message): \(advice)" }

    private static func advice(_ kind: Kind, _ file: String) -> String {
        switch kind {
        case .full: "free some space on its file system; work resumes by itself"
        case .ioError: "check the disk and the kernel log; work resumes by itself when writing succeeds again"
        case .readOnly: "make the file and its directory writable for opsd; work resumes by itself"
        case .corrupt:
            "nothing was changed; move it away and put a backup in its place (opsctl backup makes them), "
                + "or save what can be read with: sqlite3 \(file) .recover"
        case .notADatabase: "nothing was changed; move it away or start opsd with another --state directory"
        case .newerSchema:
            "nothing was changed; install the newer opsd again, or put back the backup made before the upgrade"
        case .busy: "end the other process that uses it"
        case .other: "see the message; opsctl check tells whether the database is sound"
        }
    }
}

internal import Glibc
internal import OpsSystem
public import OpsWire

/// Environment, directory and umask of this process, which a submission records for its operations.
public enum Surroundings: Sendable {
    case all
    /// Only the variables that describe the user and the path of programs.
    case clean

    private static let kept: [StaticString] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ"]

    /// The same as a part of a submission.
    public var capture: Capture {
        var text = JSONWriter()
        write(to: &text)
        // The text has the form that `Capture` reads.
        do throws(InvalidParameter) {
            return try scan(text.bytes) { (scanner) throws(InvalidParameter) in try Capture(from: &scanner) }
        } catch { preconditionFailure("\(error)") }
    }

    /// Writes the object that `capture` reads.
    func write(to text: inout JSONWriter) {
        text.beginObject()
        text.key("environment")
        text.beginObject()
        writeEnvironment(to: &text)
        text.endObject()
        text.key("directory")
        WorkingDirectory.withPath { text.string(repairing: $0) }
        let mask = umask(0)
        umask(mask)
        text.key("umask")
        text.integer(Int(mask))
        text.endObject()
    }

    /// Copies the variables directly: a `String` for each one would cost a third of the work of a submission.
    private func writeEnvironment(to object: inout JSONWriter) {
        Environment.visit { name, value in
            guard !name.hasPrefix("OPS_"), !name.equals("NOTIFY_SOCKET") else { return }
            if self == .clean && !Self.kept.contains(where: name.equals) && !name.hasPrefix("LC_") { return }
            // Names that are not UTF-8 could become equal when they are repaired.
            guard name.isASCII || String(validating: name, as: UTF8.self) != nil else { return }
            object.key(repairing: name)
            object.string(repairing: value)
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func hasPrefix(_ text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount, let baseAddress else { return false }
        return memcmp(baseAddress, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    fileprivate func equals(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && hasPrefix(text)
    }
}

/// The current directory of this process.
public enum WorkingDirectory {
    private static let root: StaticString = "/"

    public static var path: String { withPath { String(decoding: $0, as: UTF8.self) } }

    static func withPath<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        guard let path = getcwd(nil, 0) else { return body(UnsafeBufferPointer(start: root.utf8Start, count: 1)) }
        defer { free(path) }
        let bytes = UnsafeRawPointer(path).assumingMemoryBound(to: UInt8.self)
        return body(UnsafeBufferPointer(start: bytes, count: strlen(path)))
    }
}

internal import Glibc
internal import OpsSystem
internal import OpsWire

/// What the submitting process is: every operation of the submission starts from it.
enum Capture {
    private static let kept: [StaticString] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ"]

    static func write(to text: inout JSONWriter, isClean: Bool) {
        text.key("capture")
        text.object { capture in
            capture.key("environment")
            capture.object { writeEnvironment(to: &$0, isClean: isClean) }
            capture.key("directory")
            WorkingDirectory.withPath { capture.string(repairing: $0) }
            let mask = umask(0)
            umask(mask)
            capture.member("umask", Int(mask))
        }
    }

    /// Straight from where the variables lie: texts made of each would be a third of all that a submission does.
    private static func writeEnvironment(to object: inout JSONWriter, isClean: Bool) {
        Environment.visit { name, value in
            guard !name.hasPrefix("OPS_"), !name.equals("NOTIFY_SOCKET") else { return }
            if isClean && !kept.contains(where: name.equals) && !name.hasPrefix("LC_") { return }
            // A name that is no text cannot be told apart from others like it.
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

enum WorkingDirectory {
    private static let root: StaticString = "/"

    static var path: String { withPath { String(decoding: $0, as: UTF8.self) } }

    static func withPath<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        guard let path = getcwd(nil, 0) else { return body(UnsafeBufferPointer(start: root.utf8Start, count: 1)) }
        defer { free(path) }
        let bytes = UnsafeRawPointer(path).assumingMemoryBound(to: UInt8.self)
        return body(UnsafeBufferPointer(start: bytes, count: strlen(path)))
    }
}

internal import Glibc
internal import OpsKernel
internal import OpsWire

/// What the submitting process is: every operation of the submission starts from it.
enum Capture {
    private static let kept = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ"]

    static func write(to text: inout JSONWriter, isClean: Bool) {
        text.key("capture")
        text.object {
            $0.key("environment")
            $0.object { writeEnvironment(to: &$0, isClean: isClean) }
            $0.member("directory", WorkingDirectory.path)
            let mask = umask(0)
            umask(mask)
            $0.member("umask", Int(mask))
        }
    }

    private static func writeEnvironment(to object: inout JSONWriter, isClean: Bool) {
        Environment.visit { name, value in
            guard !name.hasPrefix("OPS_"), name != "NOTIFY_SOCKET" else { return }
            if isClean && !kept.contains(name) && !name.hasPrefix("LC_") { return }
            object.member(name, value)
        }
    }
}

enum WorkingDirectory {
    static var path: String {
        guard let buffer = getcwd(nil, 0) else { return "/" }
        defer { free(buffer) }
        return String(cString: buffer)
    }
}

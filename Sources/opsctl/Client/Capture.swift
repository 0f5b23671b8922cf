internal import Glibc
internal import OpsKernel
internal import OpsWire

/// What the submitting process is: every operation of the submission starts from it.
enum Capture {
    private static let kept: Set<String> = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ"]

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
        // Of a variable given twice the C library sees the first.
        var seen: Set<String> = []
        for entry in Environment.all {
            guard let pair = Pair(entry), !pair.key.hasPrefix("OPS_"), pair.key != "NOTIFY_SOCKET" else { continue }
            if isClean && !kept.contains(pair.key) && !pair.key.hasPrefix("LC_") { continue }
            if seen.insert(pair.key).inserted { object.member(pair.key, pair.value) }
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

internal import Glibc
internal import OpsSystem
internal import OpsWire

/// `tell`: sends a report from inside an operation to opsd, through NOTIFY_SOCKET.
enum TellVerb {
    private static let progress = Option.value(
        "progress", "N[/M]", .text, "finished part of the work, and the total")
    private static let status = Option.value("status", "TEXT", .text, "one line about the current work")
    private static let result = Option.value("result", "TEXT", .text, "result for dependents (at most 4 KiB)")
    private static let done = Option.flag("done", "end the operation with success (completion: notify)")
    private static let failed = Option.flag("failed", "end the operation with a failure (completion: notify)")

    static let verb = Verb(
        "tell", .steering, "report progress, status, result or end from inside an operation",
        forms: ["[--progress N/M] [--status TEXT] [--result TEXT] [--done | --failed]"],
        about: [
            "For commands that opsd runs. Sends the same messages to NOTIFY_SOCKET as systemd-notify, and does "
                + "not wait for an answer."
        ],
        options: [OptionGroup("Reporting", [progress, status, result, done, failed])],
        examples: [
            .init("A third is done", "opsctl tell --progress 3/9 --status \"epoch 3\""),
            .init(
                "A result for the operations that depend on this one", "opsctl tell --result \"$(git rev-parse HEAD)\""),
        ],
        action: run)

    private static let longestResult = 4096

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        guard !arguments.has(done) || !arguments.has(failed) else {
            throw session.refuse("--done and --failed cannot be used together", "leave one out")
        }
        var lines: [String] = []
        if let text = arguments.text(progress) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int64($0) }
            guard (1...2).contains(parts.count), parts.allSatisfy({ $0.map { $0 >= 0 } ?? false }) else {
                throw session.refuse("--progress takes N or N/M, not \"\(text)\"", nil)
            }
            lines.append("X_OPS_PROGRESS=\(text)")
        }
        if let text = arguments.text(status) { lines.append("STATUS=\(try line(text, status, session))") }
        if let text = arguments.text(result) {
            guard text.utf8.count <= longestResult else {
                throw session.refuse(
                    "--result has more than \(longestResult) bytes", "write it to a file and give its path")
            }
            lines.append("X_OPS_RESULT=\(try line(text, result, session))")
        }
        if arguments.has(done) { lines.append("X_OPS_FINISHED=0") }
        if arguments.has(failed) { lines.append("X_OPS_FINISHED=1") }
        guard !lines.isEmpty else { throw session.refuse("there is nothing to report", "see opsctl help tell") }
        guard let address = Environment["NOTIFY_SOCKET"], !address.isEmpty else {
            throw Failure(
                .refused, arguments.path, "not inside an operation", "it works in commands that opsd runs")
        }
        let number = send(lines.joined(separator: "\n"), to: address)
        guard number == 0 else {
            throw Failure(.unreachable, arguments.path, "\(address): \(SystemError.text(number))", nil)
        }
        return .done
    }

    private static func line(_ text: String, _ option: Option, _ session: Session) throws(Failure) -> String {
        guard !text.utf8.contains(0x0a) else { throw session.refuse("--\(option.name) must be one line", nil) }
        return text
    }

    /// Sends a message; returns 0 or the errno.
    private static func send(_ text: String, to address: String) -> Int32 {
        var destination = sockaddr_un()
        destination.sun_family = sa_family_t(AF_UNIX)
        var path = Array(address.utf8)
        guard path.count < MemoryLayout.size(ofValue: destination.sun_path) else { return ENAMETOOLONG }
        // The name of an abstract socket begins with a zero byte.
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        withUnsafeMutableBytes(of: &destination.sun_path) { $0.copyBytes(from: path) }
        let length = MemoryLayout<sa_family_t>.size + path.count + (path.first == 0 ? 0 : 1)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        let sent = withUnsafePointer(to: &destination) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
        return sent < 0 ? errno : 0
    }
}

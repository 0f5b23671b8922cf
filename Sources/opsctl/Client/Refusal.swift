internal import Glibc
internal import OpsSystem

/// The daemon's errors in the words and exit statuses of opsctl.
enum Refusal {
    private static let interface = "org.opsd.Control."

    static func failure(_ error: String, _ parameters: JSONView) -> Failure {
        let message = parameters["message"]?.text
        guard error.hasPrefix(interface) else { return standard(error, parameters) }
        switch error.dropFirst(interface.count) {
        case "NotFound":
            let kind = parameters["kind"]?.text ?? "thing"
            let name = parameters["name"]?.text ?? ""
            let advice = parameters["nearest"]?.text.map { "did you mean \($0)?" } ?? look(for: kind)
            return Failure(.notFound, "", "no \(kind) \(name)", advice)
        case "InvalidOperation": return invalid(parameters["problems"]?.elements ?? [])
        case "Cycle":
            let path = shortened(
                (parameters["path"]?.elements ?? []).compactMap { $0.text ?? $0.integer.map(String.init) })
            guard let category = parameters["category"]?.text else {
                return Failure(
                    .refused, "", "dependencies form a cycle: " + path.joined(separator: " -> "),
                    "remove one of these edges")
            }
            return Failure(
                .refused, "",
                "dependencies and category \(category) form a cycle: " + path.joined(separator: " -> "),
                "remove one of these edges, or the category from one of them")
        case "WrongState": return Failure(.refused, "", message ?? "its state does not allow it", nil)
        case "PermissionDenied": return Failure(.refused, "", message ?? "permission denied", nil)
        case "StorageUnavailable":
            // The daemon's own words say what to do.
            return message.map { Failure(.storage, "", $0) }
                ?? Failure(
                    .storage, "", "the daemon cannot write its database",
                    "make room on its disk; it recovers by itself")
        case "TooLarge":
            let limit = parameters["limit"]?.integer.map { " (limit \($0))" } ?? ""
            return Failure(
                .refused, "", "\(parameters["what"]?.text ?? "the request") is too large\(limit)", "make it smaller")
        case "Busy": return Failure(.refused, "", message ?? "the daemon is busy", "try again")
        case "Lagged":
            let resume = parameters["resume"]?.integer ?? 0
            return Failure(
                .unsuccessful, "", "this reader was too slow for the event stream", "go on with --since \(resume)")
        case "TimedOut":
            let remaining = parameters["remaining"]?.integer ?? 0
            return Failure(.timedOut, "", "timed out with \(remaining) unfinished", nil)
        default: return Failure(.refused, "", message ?? "the daemon says \(error)", nil)
        }
    }

    /// A line is read by people: of a long cycle the beginning and the end.
    private static func shortened(_ path: [String]) -> [String] {
        let shown = 10
        guard path.count > 2 * shown + 1 else { return path }
        return path.prefix(shown) + ["... \(path.count - 2 * shown) more ..."] + path.suffix(shown)
    }

    private static func standard(_ error: String, _ parameters: JSONView) -> Failure {
        switch error {
        case "org.varlink.service.InvalidParameter":
            return Failure(
                .usage, "", "the daemon does not accept \(parameters["parameter"]?.text ?? "a parameter")", nil)
        case "org.varlink.service.MethodNotFound", "org.varlink.service.MethodNotImplemented",
            "org.varlink.service.InterfaceNotFound":
            return Failure(
                .refused, "", "the daemon does not know how to do this", "use opsctl and opsd of one version")
        default: return Failure(.refused, "", "the daemon says \(error)", nil)
        }
    }

    private static func invalid(_ problems: [JSONView]) -> Failure {
        var failure = Failure(.refused, "", "the operation is not acceptable", nil)
        failure.problems = problems.map {
            Problem(
                index: $0["index"]?.integer, name: $0["name"]?.text, key: $0["key"]?.text,
                message: $0["message"]?.text ?? "not acceptable")
        }
        return failure
    }

    private static func look(for kind: String) -> String? {
        switch kind {
        case "operation": "see opsctl ls"
        case "queue": "see opsctl queue ls"
        case "category": "see opsctl category ls"
        default: nil
        }
    }

    static func unreachable(_ path: String, _ error: SystemError) -> Failure {
        switch error.errno {
        case EACCES, EPERM:
            Failure(
                .unreachable, path, "permission denied",
                "join the group of the socket (ops), or name another daemon with --socket")
        case ENOENT, ECONNREFUSED:
            Failure(
                .unreachable, path, "no daemon listens here",
                "start one with \"opsd\" or \"systemctl start opsd\", or name its socket with --socket")
        default:
            Failure(.unreachable, path, SystemError.text(error.errno), "name the daemon's socket with --socket")
        }
    }

    static func senseless(_ answer: String) -> Failure {
        Failure(.unreachable, "daemon", "it sent \(answer)", "check that opsctl and opsd are of one version")
    }

    static func lost(_ error: SystemError?) -> Failure {
        var failure = Failure(
            .unreachable, "daemon", error.map { SystemError.text($0.errno) } ?? "it closed the connection",
            "see that it runs with opsctl status and try again")
        failure.isLoss = true
        return failure
    }
}

/// What is wrong with one operation of a submission.
struct Problem: Sendable {
    /// Its place in the flattened graph.
    let index: Int?
    let name: String?
    let key: String?
    let message: String
    /// File and line, where it came from a file.
    var place: String?

    /// Who is meant, then what: `operation build (3), key queue: no queue fst`.
    var text: String {
        var subject: [String] = []
        if let name {
            subject.append("operation \(name)")
        } else if let index {
            subject.append("operation \(index + 1)")
        }
        if let key { subject.append("key \(key)") }
        return subject.isEmpty ? message : subject.joined(separator: ", ") + ": " + message
    }
}

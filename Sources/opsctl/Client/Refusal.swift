internal import Glibc
internal import OpsClient
internal import OpsSystem
internal import OpsWire

/// Translates errors of a call into messages and exit statuses of opsctl.
extension Failure {
    init(_ error: ClientError) {
        switch error {
        case .unreachable(let path, let errno): self = Self.unreachable(path, errno)
        case .unreachableHost(let host, let reason): self = Self.unreachable(host: host, reason)
        case .lost(let errno): self = Self.lost(errno.map(SystemError.text) ?? "it closed the connection")
        case .timedOut:
            self.init(
                .timedOut, "", "timed out without an answer of the daemon", "check with opsctl status that it runs")
        case .refused(.control(let error)): self.init(error)
        case .refused(.service(let error)): self.init(error)
        case .refused(.unknown(let name, _)): self.init(.refused, "", "the daemon says \(name)")
        case .noMessage: self = Self.invalid("an invalid message")
        case .wrongReply(let error):
            let place = error.parameter.isEmpty ? "" : "\(error.parameter): "
            self = Self.invalid("an invalid answer (\(place)\(error.reason))")
        }
    }

    private init(_ error: ControlError) {
        switch error {
        case .notFound("operation", let name, _) where Self.isGraphID(name):
            self.init(.notFound, "", "no operation \(name)", "name a graph with --graph: opsctl ls --graph \(name)")
        case .notFound("operation", let name, _) where name.contains("@"):
            // The nearest name may be that of an operation of another graph.
            let graph = name.drop { $0 != "@" }.dropFirst()
            self.init(.notFound, "", "no operation \(name)", "see opsctl ls --graph \(graph)")
        case .notFound("dependency", let name, _):
            // The daemon names the dependency "12 on 7".
            let operation = name.prefix { $0 != " " }
            self.init(.notFound, "", "no dependency \(name)", "see opsctl show \(operation) for those that it has")
        case .notFound(let kind, let name, let nearest):
            let advice = nearest.map { "did you mean \($0)?" } ?? Self.look(for: kind)
            self.init(.notFound, "", "no \(kind) \(name)", advice)
        case .invalidOperation(let problems):
            self.init(.refused, "", "the operation is invalid")
            self.problems = problems.map { LocatedProblem(problem: $0) }
        case .cycle(let path, let category):
            let shown = Self.shortened(path).joined(separator: " -> ")
            if let category {
                self.init(
                    .refused, "", "dependencies and category \(category) form a cycle: \(shown)",
                    "remove one of these edges, or the category from one of them")
            } else {
                self.init(.refused, "", "dependencies form a cycle: \(shown)", "remove one of these edges")
            }
        case .wrongState(_, let message): self.init(.refused, "", message)
        case .permissionDenied(let message):
            self.init(.refused, "", message)
            isDenied = true
        // The daemon's message contains the advice.
        case .storageUnavailable(let message): self.init(.storage, "", message)
        case .tooLarge(let what, let limit):
            self.init(.refused, "", "\(what) is too large (limit \(limit))", "make it smaller")
        case .busy(let message):
            self.init(.refused, "", message, "try again")
            isBusy = true
        case .lagged(let resume):
            self.init(
                .refused, "", "the events up to \(resume) were pruned, or this reader was too slow",
                "continue with --since \(resume)")
        case .timedOut(let remaining): self.init(.timedOut, "", "timed out with \(remaining) unfinished")
        }
    }

    private init(_ error: ServiceError) {
        switch error {
        // The JSON of opsctl is valid, so the daemon can only find it nested too deeply.
        case .invalidParameter(""):
            self.init(.refused, "", "the daemon cannot read the call", "nest it at most \(Limits.depth) deep")
        case .invalidParameter(let name): self.init(.usage, "", "the daemon does not accept \(name)")
        case .methodNotFound, .methodNotImplemented, .interfaceNotFound:
            self.init(.refused, "", "the daemon does not know how to do this", "use opsctl and opsd of one version")
        case .permissionDenied, .expectedMore: self.init(.refused, "", "the daemon says \(error.qualifiedName)")
        }
    }

    /// Returns the beginning and the end of a long cycle, for a readable line.
    private static func shortened(_ path: [String]) -> [String] {
        let shown = 10
        guard path.count > 2 * shown + 1 else { return path }
        return path.prefix(shown) + ["... \(path.count - 2 * shown) more ..."] + path.suffix(shown)
    }

    /// Returns true for the id of a graph, such as `g67`.
    private static func isGraphID(_ name: String) -> Bool {
        name.utf8.count > 1 && name.hasPrefix("g") && name.utf8.dropFirst().allSatisfy { 0x30...0x39 ~= $0 }
    }

    private static func look(for kind: String) -> String? {
        switch kind {
        case "operation": "see opsctl ls"
        case "graph": "see opsctl graph"
        case "queue": "see opsctl queue ls"
        case "category": "see opsctl category ls"
        case "schedule": "see opsctl schedule ls"
        default: nil
        }
    }

    private static func unreachable(_ path: String, _ errno: Int32) -> Failure {
        switch errno {
        case EACCES, EPERM:
            Failure(
                .unreachable, path, "permission denied",
                "join the group of the socket (ls -l shows it), or name another daemon with --socket")
        case ENOENT, ECONNREFUSED:
            Failure(
                .unreachable, path, "no daemon listens here",
                "start one with \"opsd\" or \"\(service(at: path))\", or name its socket with --socket")
        default:
            Failure(.unreachable, path, SystemError.text(errno), "name the daemon's socket with --socket")
        }
    }

    /// Returns the command that starts the daemon of a socket: the user's own daemon has it in the user's runtime
    /// directory.
    private static func service(at path: String) -> String {
        let named = Environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 }
        let isOwn = path.hasPrefix((named ?? "/run/user/\(getuid())") + "/")
        return isOwn ? "systemctl --user start opsd" : "systemctl start opsd"
    }

    private static func unreachable(host: String, _ reason: RemoteHost.Failure) -> Failure {
        switch reason {
        case .notStarted(let errno):
            Failure(
                .unreachable, host, "ssh cannot be started: \(SystemError.text(errno))", "install ssh, or set OPS_SSH")
        case .ended(status: 3):
            Failure(
                .unreachable, host, "no daemon answers on this host",
                "start one there, or name its socket with --socket")
        case .ended(status: 127):
            Failure(
                .unreachable, host, "this host has no opsctl",
                "install it there, in the PATH that ssh gives"
                    + (Environment["OPS_SSH"] == nil ? "" : ", or correct OPS_SSH if it names no program"))
        case .ended(let status):
            Failure(
                .unreachable, host, "the connection ended with status \(status)",
                "check that \"ssh \(host) opsctl status\" works")
        case .silent(let seconds):
            Failure(
                .unreachable, host, "no answer within \(seconds) s", "check that \"ssh \(host) opsctl status\" works")
        }
    }

    private static func invalid(_ answer: String) -> Failure {
        Failure(.unreachable, "daemon", "received \(answer)", "check that opsctl and opsd are of one version")
    }

    private static func lost(_ why: String) -> Failure {
        var failure = Failure(.unreachable, "daemon", why, "check with opsctl status that it runs, and try again")
        failure.isLoss = true
        return failure
    }
}

/// A problem of a submission.
struct LocatedProblem: Sendable {
    let problem: Problem
    /// File and line of the problem, if the submission came from a file.
    var place: String?
    /// True if the submission has other operations too.
    var isOfMany = true

    /// Operation, key and problem: `operation build, key queue: no queue fst`.
    var text: String {
        var subject: [String] = []
        if isOfMany, let name = problem.name {
            subject.append("operation \(name)")
        } else if isOfMany, let index = problem.index {
            subject.append("operation \(index + 1)")
        }
        if let key = problem.key { subject.append("key \(key)") }
        return subject.isEmpty ? problem.message : subject.joined(separator: ", ") + ": " + problem.message
    }
}

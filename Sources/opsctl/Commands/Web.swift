internal import OpsSystem

/// `web`: serves the page for a browser.
enum WebVerb {
    private static let readOnly = Option.flag("read-only", "show everything, change nothing")
    private static let port = Option.value("port", "N", .integer, "port on loopback (default: 8817, or a free one)")
    private static let open = Option.flag("open", "open the page in a browser")
    private static let program = "opsd-web"

    static let verb = Verb(
        "web", .looking, "serve a web page that shows and controls everything",
        forms: ["[--read-only] [--port N | --socket PATH] [--open]"],
        about: [
            "Runs opsd-web, which must be beside opsctl or in $PATH, in the foreground and with your rights. It prints a "
                + "link that one browser can open once, and then prints the next one. It listens only on loopback or "
                + "at a socket that only this user can open. Ctrl-C ends it.",
            "Here --socket is the Unix socket to create, instead of a port. The daemon is that of $OPS_SOCKET, or the default one.",
        ],
        options: [OptionGroup("Serving", [readOnly, port, open])],
        examples: [
            .init("Open the page", "opsctl web --open"),
            .init("For a screen on the wall", "opsctl web --read-only --port 8080"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        if arguments.has(port), arguments.has(.socket) {
            throw session.refuse("--port and --socket cannot be used together", "leave one out")
        }
        guard !HostList.isGiven(arguments) else {
            throw session.refuse(
                "the page of another host is started there",
                "write ssh -L 8817:127.0.0.1:8817 HOST opsctl web --port 8817, or unset OPS_HOST")
        }
        var words = [program]
        for flag in [readOnly, open] where arguments.has(flag) { words.append("--\(flag.name)") }
        for option in [port, Option.socket] {
            if let value = arguments.text(option) { words += ["--\(option.name)", value] }
        }
        let found: String?
        do throws(SystemError) { found = try findProgram() } catch {
            throw Failure(.refused, "web", "\(error)")
        }
        guard let found else {
            throw Failure(
                .notFound, "web", "\(program) is neither beside opsctl nor in $PATH",
                "install the package \(program)")
        }
        let error = OpsSystem.Program.execute(found, arguments: words)
        throw Failure(.refused, "web", "\(error)")
    }

    /// Returns the path of opsd-web, beside this program or in `$PATH`.
    private static func findProgram() throws(SystemError) -> String? {
        let own = try OpsSystem.Program.path()
        let folder = own.lastIndex(of: "/").map { String(own[..<$0]) } ?? "."
        let folders = [folder] + (Environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return folders.map { $0 + "/" + program }.first(where: Files.isExecutable)
    }
}

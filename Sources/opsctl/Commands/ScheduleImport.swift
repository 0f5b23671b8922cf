internal import Glibc
internal import OpsClient
internal import OpsSystem
internal import OpsWire

/// `schedule import`: converts crontabs.
enum ScheduleImport {
    private static let apply = Option.flag("apply", "add the schedules; otherwise they are only shown")
    private static let system = Option.flag(
        "system", "the lines have a column with a user, as in /etc/crontab (default for /etc/crontab and /etc/cron.d)")

    static let verb = Verb(
        "import", .keeping, "turn the lines of a crontab into schedules", forms: ["[CRONTAB|-] [--system] [--apply]"],
        about: [
            "For each line of CRONTAB, or of standard input, it prints the schedule that the line would become, or why it cannot become one. --apply adds the schedules. The exit status is 1 if a line cannot become a schedule. The jobs run as under cron: in the home directory, with only the variables of the crontab, and even while an earlier run is unfinished; missed runs are not caught up.",
            "A line is refused if there is a schedule of its name with another command, time or variable. If that is an earlier version of the line, remove it first with opsctl schedule rm.",
        ],
        operands: .perhaps(.file, "CRONTAB"), options: [OptionGroup("Import", [apply, system])],
        examples: [.init("Preview your own crontab", "crontab -l | opsctl schedule import")], action: run)

    private struct Job {
        let line: Crontab.Line
        let request: AddScheduleRequest
        var problem: String?
        var state = ""
    }

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let path = session.arguments.operands.first ?? "-"
        if path == "-", session.arguments.operands.isEmpty, isatty(STDIN_FILENO) == 1 {
            throw session.refuse("no crontab is given", "write crontab -l | opsctl schedule import")
        }
        let isSystem = session.arguments.has(system) || path == "/etc/crontab" || path.hasPrefix("/etc/cron.d/")
        let accounts = Accounts()
        let crontab = Crontab(
            try InputFile.read(path, session.arguments.path), hasUsers: isSystem ? true : nil,
            isAccount: { accounts.named($0) != nil })
        for note in crontab.notes { StandardError.line("opsctl: note: \(note.printable)") }
        var jobs: [Job] = []
        for (line, name) in zip(crontab.lines, crontab.names) {
            var job = Job(line: line, request: request(line, name, accounts))
            try add(&job, session)
            jobs.append(job)
        }
        try report(jobs, session)
        return jobs.contains { $0.problem != nil } ? .unsuccessful : .done
    }

    /// Returns the schedule of a line, with the environment that cron would give it. The variables of the crontab are
    /// those of the operation: they override the login variables of another user, and a changed one changes the
    /// schedule.
    static func request(_ line: Crontab.Line, _ name: String, _ accounts: Accounts) -> AddScheduleRequest {
        let account = line.user.map { accounts.named($0) } ?? accounts.own
        let otherUser = line.user == accounts.own?.name ? nil : line.user
        let home = line.variable("HOME") ?? account?.home ?? "/"
        let shell = line.variable("SHELL") ?? "/bin/sh"
        var login: [(name: String, value: String)] = [("PATH", "/usr/bin:/bin"), ("HOME", home), ("SHELL", shell)]
        if let account { login += [("LOGNAME", account.name), ("USER", account.name)] }
        var variables = line.variables.filter { isPassedOn($0.name) }
        // Under cron, SHELL is not the login shell of the user.
        if otherUser != nil, line.variable("SHELL") == nil { variables.append(("SHELL", shell)) }
        // Their order in the crontab does not change the schedule.
        variables.sort { $0.name < $1.name }
        var request = AddScheduleRequest()
        request.name = name
        request.at = [line.expression]
        request.zone = line.variable("CRON_TZ")
        request.overlap = "allow"
        request.catchUp = "none"
        request.capture = .with {
            // opsd refuses a relative directory.
            $0.directory = home.hasPrefix("/") ? home : "/"
            $0.umask = 0o022
            $0.environment = StringMap(login)
        }
        var text = JSONWriter()
        text.beginArray()
        text.object { object in
            object.member("command", [Substitution.literal(shell), "-c", Substitution.literal(line.shell)])
            object.member("user", otherUser)
            guard !variables.isEmpty else { return }
            object.member(
                "environment", variables.map { Pair(key: $0.name, value: Substitution.literal($0.value)) })
        }
        text.endArray()
        request.operations = RawElements(text.bytes)
        return request
    }

    /// Returns true if jobs get a variable of the crontab. cron reads `CRON_TZ` itself and sets `LOGNAME` to the user;
    /// opsd sets or reserves the others.
    private static func isPassedOn(_ name: String) -> Bool {
        !["CRON_TZ", "LOGNAME", "NOTIFY_SOCKET", "TRACEPARENT"].contains(name) && !name.hasPrefix("OPS_")
    }

    /// Adds the schedule of a line, or checks whether it could be added.
    private static func add(_ job: inout Job, _ session: Session) throws(Failure) {
        job.problem = job.line.problem
        if job.problem != nil { return }
        var request = job.request
        request.replace = true
        request.dryRun = true
        do throws(Failure) {
            let reply = try session.call(request)
            for warning in reply.warnings {
                StandardError.line("opsctl: warning: line \(job.line.number): \(warning.printable)")
            }
            let change = reply.change
            job.state = ["added": "new", "none": "present"][change] ?? "taken"
            guard change != "updated" else {
                job.problem = "there is a schedule \(request.name) with another command, time or variable"
                return
            }
            guard session.arguments.has(apply), change == "added" else { return }
            request.replace = nil
            request.dryRun = nil
            _ = try session.call(request)
            job.state = "added"
        } catch {
            guard error.status == .refused else { throw error }
            job.problem = error.problems.first.map(\.problem.message) ?? error.why
        }
    }

    private static func report(_ jobs: [Job], _ session: Session) throws(Failure) {
        if session.wantsJSON {
            for job in jobs { try session.output.line(json(job)) }
            return
        }
        var table = Table(
            [
                .init("LINE", right: true), .init("SCHEDULE"), .init("AT"), .init("USER"), .init("STATE"),
                .init("COMMAND", elastic: true),
            ], style: session.style, columns: session.screen.columns)
        for job in jobs where job.problem == nil {
            try table.add(
                [
                    .init("\(job.line.number)"), .init(job.request.name, .bold), .init(job.line.expression.printable),
                    .init((job.line.user ?? "").printable), .init(job.state), .init(job.line.command.printable),
                ], to: session.output)
        }
        try table.finish(session.output)
        for job in jobs {
            guard let problem = job.problem else { continue }
            StandardError.line(
                "opsctl: line \(job.line.number): \(problem.printable): \(job.line.text.printable)")
        }
    }

    private static func json(_ job: Job) -> [UInt8] {
        JSONWriter.object {
            $0.member("line", job.line.number)
            $0.member("text", job.line.text)
            $0.member("name", job.request.name)
            $0.member("at", job.request.at)
            $0.member("zone", job.request.zone)
            $0.member("user", job.line.user)
            $0.member("command", job.line.command)
            $0.member("state", job.problem == nil ? job.state : "refused")
            $0.member("problem", job.problem)
        }
    }
}

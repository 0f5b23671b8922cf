internal import OpsClient
internal import OpsWire

/// `schedule add`: adds a command or a graph file with a calendar and a policy.
enum ScheduleAdd {
    private static let overlap = Option.value(
        "overlap", "skip|queueOne|queueAll|cancel|allow", .text,
        "while an earlier run is unfinished: skip the new run (default), let one run or all runs wait, cancel the earlier run, or allow both"
    )
    private static let catchUp = Option.value(
        "catch-up", "none|last|all", .text, "instants missed while opsd or the machine was down (default: last)")
    private static let window = Option.value(
        "window", "D", .duration, "maximum age of a missed instant that is caught up (default: 1d)")
    private static let spread = Option.value(
        "spread", "D", .duration, "delay each run by a random time up to D; the same instant always has the same delay")
    private static let from = Option.value("from", "INSTANT", .time, "first instant that may run")
    private static let until = Option.value("until", "INSTANT", .time, "last instant that may run")
    private static let count = Option.value("count", "N", .integer, "maximum number of runs")
    private static let keep = Option.value(
        "keep", "N", .integer, "number of finished runs whose graphs are kept (default: 50)")
    private static let onPath = Option.value(
        "on-path", "GLOB", .text,
        "instead of --at: a run for each new or changed file, with its path in $OPS_TRIGGER_FILE and ${file}")
    private static let settle = Option.value(
        "settle", "D", .duration, "time for which a file must be unchanged (default: 5s)")
    private static let batch = Option.flag(
        "batch", "one run for files that are new at once, or a few if they are very many")
    private static let poll = Option.value(
        "poll", "D", .duration, "longest time between two scans of all files (default: 10m)")
    private static let onExec = Option.value(
        "on-exec", "CMD", .text,
        "instead of --at: a run for each new line that a shell command prints, with the line in $OPS_TRIGGER_EVENT and ${event}"
    )
    private static let every = Option.value(
        "every", "D", .duration, "time between two starts of the command (default: 5m)")
    private static let dryRun = Option.flag("dry-run", "check only, and list the next instants")
    private static let triggers = OptionGroup("Triggers", [onPath, settle, batch, poll, onExec, every])
    private static let policy = OptionGroup(
        "Calendar",
        [ScheduleVerb.at, ScheduleVerb.zone, overlap, catchUp, window, spread, from, until, count, keep, dryRun])
    /// Options of the graph and its operations, except their start times: here `--at` is the calendar.
    private static let graph =
        [OptionGroup("Graph", [.file, .format, .set])]
        + OptionGroup.operation.map { group in
            OptionGroup(group.title, group.options.filter { ![Option.at.name, Option.delay.name].contains($0.name) })
        }

    static let verb = Verb(
        "add", .keeping, "add a schedule",
        forms: [
            "NAME --at EXPR [OPTION...] [--] COMMAND [ARG...]", "NAME --at EXPR [OPTION...] -f FILE",
            "NAME --on-path GLOB [OPTION...] [--] COMMAND [ARG...]",
            "NAME --on-exec CMD --every D [OPTION...] [--] COMMAND [ARG...]",
        ],
        about: [
            "A trigger starts a run for each file that is new or has changed (--on-path), or for each line that was not printed before (--on-exec). Files and lines that exist when the schedule is added count as new. Runs wait for one another (--overlap queueAll). Each file or line starts one run; opsctl schedule forget NAME KEY allows another.",
            "In a text for the shell, ${file} and ${event} become references to the variables of the run, so that the "
                + "shell executes no part of a path or a line. Do not put them in single quotes.",
            "Each run is a graph with the name of the schedule and the label schedule=NAME. It runs in the environment and directory in which the schedule was added. $OPS_SCHEDULED_AT contains the instant of the run, and $OPS_SCHEDULED_BEFORE the previous one; in the texts of the graph, ${scheduled} and ${scheduledBefore} are replaced by them.",
        ],
        operands: .nameAndCommand, options: [policy, triggers] + graph, action: add)

    static let applyVerb = Verb(
        "apply", .keeping, "add or update the schedule in a graph file",
        forms: ["-f FILE [--format json|yaml] [--set K=V]... [--dry-run]"],
        about: [
            "The schedule has the name of the graph in the file; the key \"schedule\" of the file contains its calendar. Applying the same file again changes nothing. A changed calendar applies from now on; earlier runs and records stay."
        ],
        options: [OptionGroup("Graph", [.file, .format, .set, dryRun])], action: apply)

    private static func add(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        // The other options are those of a submission, where some of these names have other meanings.
        let inner = try Session(
            arguments.without(policy.options + triggers.options).with(operands: Array(arguments.operands.dropFirst())))
        let submission: Submission
        var graph: GraphFile?
        if let path = arguments.text(.file) {
            let (read, file) = try SubmitVerb.graph(path, inner, later: { namesOfRuns($0, arguments) })
            (submission, graph) = (read, file)
        } else {
            try SubmitVerb.refuseOptionsOfFile(inner)
            submission = try SubmitVerb.single(inner)
        }
        var request = AddScheduleRequest()
        request.name = arguments.operands[0]
        var keys = graph.map { ScheduleKeys($0) }
        keys?.fill(&request)
        fill(&request, arguments)
        guard !request.at.isEmpty || request.onPath != nil || request.onExec != nil else {
            throw session.refuse(
                "no expression is given", "give --at EXPR, such as --at '0 3 * * *', or --on-path or --on-exec")
        }
        try report(try send(request, submission, keys, session), session)
        return .done
    }

    private static func apply(_ session: Session) throws(Failure) -> ExitStatus {
        guard let path = session.arguments.text(.file) else {
            throw session.refuse("no file is given", "give -f FILE, a graph file with the keys name and schedule")
        }
        let (submission, file) = try SubmitVerb.graph(path, session, later: { namesOfRuns($0, session.arguments) })
        guard let name = file.name else {
            throw Failure(.refused, path, "has no \"name\"", "write \"name\": the name of the schedule")
        }
        guard file.hasSchedule else {
            throw Failure(
                .refused, path, "has no \"schedule\"", "write \"schedule\": {\"at\": \"0 3 * * *\"}")
        }
        var request = AddScheduleRequest()
        request.name = name
        request.replace = true
        request.dryRun = session.arguments.has(dryRun).ifTrue
        var keys = ScheduleKeys(file)
        keys.fill(&request)
        try report(try send(request, submission, keys, session), session)
        return .done
    }

    /// Returns the names that opsd replaces in the runs of a schedule: those of the instant, and that of its trigger.
    private static func namesOfRuns(_ text: GraphText, _ arguments: Arguments) -> Set<String> {
        let file = JSONView(text.bytes, 0..<text.bytes.count)
        let schedule = file.members.first { $0.key == "schedule" }?.value
        let keys = schedule?.members.filter { !$0.value.isNull }.map(\.key) ?? []
        func has(_ key: ScheduleKey, _ option: Option) -> Bool { keys.contains(key.rawValue) || arguments.has(option) }
        var names = Set(Substitution.ofSchedules)
        if has(.onPath, onPath) { names.insert("file") }
        if has(.onExec, onExec) { names.insert("event") }
        return names
    }

    /// Copies the options into a request. A relative pattern for another host stays relative, and opsd refuses it.
    static func fill(_ request: inout AddScheduleRequest, _ arguments: Arguments) {
        let now = Instant.now
        if arguments.has(ScheduleVerb.at) { request.at = arguments.texts(ScheduleVerb.at) }
        request.zone = arguments.text(ScheduleVerb.zone) ?? request.zone
        request.overlap = arguments.text(overlap) ?? request.overlap
        request.catchUp = arguments.text(catchUp) ?? request.catchUp
        request.window = arguments.text(window) ?? request.window
        request.spread = arguments.text(spread) ?? request.spread
        request.from = instant(arguments.text(from), now) ?? request.from
        request.until = instant(arguments.text(until), now) ?? request.until
        request.count = arguments.integer(count) ?? request.count
        request.keep = arguments.integer(keep) ?? request.keep
        request.onPath = arguments.text(onPath).map(OperationKeys(arguments: arguments).located) ?? request.onPath
        request.settle = arguments.text(settle) ?? request.settle
        request.batch = arguments.has(batch) ? true : request.batch
        request.poll = arguments.text(poll) ?? request.poll
        request.onExec = arguments.text(onExec) ?? request.onExec
        request.every = arguments.text(every) ?? request.every
        request.dryRun = arguments.has(dryRun).ifTrue
    }

    /// - Parameter keys: Keys of the file from which the schedule comes.
    private static func send(
        _ request: AddScheduleRequest, _ submission: Submission, _ keys: ScheduleKeys?, _ session: Session
    ) throws(Failure) -> AddScheduleReply {
        var request = request
        request.defaults = submission.terms.defaults
        request.order = submission.terms.order
        request.observers = submission.terms.observers
        request.capture = submission.surroundings?.capture
        request.operations = submission.elements
        // A file with problems is sent for the problems that opsd finds: all are reported at once.
        if keys?.problems.isEmpty == false { request.dryRun = true }
        let reply: AddScheduleReply
        do throws(Failure) { reply = try session.call(request) } catch { throw keys?.including(error) ?? error }
        if let failure = keys?.failure { throw failure }
        for warning in reply.warnings { StandardError.line("opsctl: warning: \(warning.printable)") }
        return reply
    }

    private static func instant(_ text: String?, _ now: Instant) -> String? {
        text.flatMap { Span.parse($0).map { now + $0 } ?? Instant.parse($0, now: now) }?.rfc3339
    }

    private static func report(_ reply: AddScheduleReply, _ session: Session) throws(Failure) {
        let schedule = reply.schedule
        if session.wantsJSON {
            guard let instants = reply.instants else { return try session.row(schedule) }
            return try session.row(
                PreviewedSchedule.with {
                    $0.schedule = schedule
                    $0.instants = instants
                })
        }
        let now = Instant.now
        let name = schedule.name.printable
        guard session.arguments.has(dryRun) else {
            if reply.change == "none" { return try session.output.line("schedule \(name) is up to date") }
            let next = schedule.next.flatMap { Instant.rfc3339($0) }.map { ", next run \($0.text(now: now))" }
            return try session.output.line("\(reply.change) schedule \(name)\(next ?? "")")
        }
        let words = ["none": "is up to date", "updated": "would be updated"][reply.change] ?? "would be added"
        guard !schedule.at.allSatisfy({ $0.hasPrefix("on") }) else {
            return try session.output.line("schedule \(name) \(words) (dry run)")
        }
        try session.output.line("schedule \(name) \(words) (dry run); its next instants:")
        try SchedulePreview.write(reply.instants ?? [], zone: schedule.zone, session)
    }

    /// A schedule with its next instants, after a dry run.
    private struct PreviewedSchedule: WireRecord {
        var schedule = ScheduleRow()
        var instants: [ScheduleNextRow] = []

        mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
            try schedule.visit(&visitor)
            try visitor.field("instants", &instants)
        }
    }
}

extension Option {
    // What an operation is.
    static let name = Option.value("name", "n", "NAME", .text, "its name")
    static let shell = Option.value("shell", "STRING", .command, "run by /bin/sh -c, instead of a command")
    static let directory = Option.value("directory", "C", "DIR", .directory, "where it runs (here)")
    static let env = Option.value(
        "env", "e", "K=V", .text,
        "a variable laid over the captured environment; K alone takes its value here"
    )
    .known(as: "environment")
    static let cleanEnv = Option.flag(
        "clean-env", "capture only PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_* and TZ")
    static let umask = Option.value("umask", "MODE", .text, "its umask, octal (this one's)")
    static let stdin = Option.value("stdin", "FILE", .file, "its standard input (/dev/null)")
    static let runAs = Option.value("user", "u", "USER", .text, "run as USER (root only)")
    static let labels = Option.value(
        "label", "l", "K=V", .keyValue, "a label, for selecting and reporting"
    )
    .known(as: "labels")

    // When it runs.
    static let toQueue = Option.value("queue", "q", "Q", .queue, "its queue (default)")
    static let priority = Option.value(
        "priority", "p", "P", .text, "-100...100, or veryLow, low, normal, high, veryHigh (normal)")
    static let qos = Option.value(
        "qos", "CLASS", .choice(["userInteractive", "userInitiated", "default", "utility", "background"]),
        "CPU and I/O class of its processes")
    static let after = Option.value(
        "after", "a", "OPS", .operation, "after these have succeeded: 12,build@g3")
    static let afterFinished = Option.value(
        "after-finished", "OPS", .operation, "after these have finished, whatever the outcome")
    static let afterFailed = Option.value(
        "after-failed", "OPS", .operation, "after these have finished without success")
    static let afterStarted = Option.value(
        "after-started", "OPS", .operation, "after these have started")
    static let category = Option.value(
        "category", "c", "NAME[:HOW]", .category,
        "excludes others of the category; HOW is shared, exclusive or a number of units"
    )
    .known(as: "categories")
    static let barrier = Option.flag("barrier", "after all earlier in its queue, and before all later")
    static let condition = Option.value(
        "condition", "COND", .text,
        "must be true at the start, otherwise it fails (wait: waits, skip: skips): JSON, or [wait:|skip:][!]FORM with pathExists=P, reachable=HOST:PORT, exec=COMMAND, "
            + "freeSpace=PATH:1G, loadBelow=4, memoryAvailable=1G, window=22:00-06:00, dependenciesSucceeded"
    )
    .known(as: "conditions")
    static let hold = Option.flag("hold", "waits for opsctl resume")
        .known(as: "held")
    static let delay = Option.value("delay", "D", .duration, "not before this has passed")
    static let at = Option.value(
        "at", "TIME", .time, "not before this instant: 22:00, \"tomorrow 06:00\", RFC 3339, or 5m from now"
    )
    .known(as: "not-before")

    // How it ends.
    static let timeout = Option.value("timeout", "t", "D", .duration, "time limit per attempt")
    static let deadline = Option.value("deadline", "TIME", .time, "must finish by TIME, else it times out")
    static let grace = Option.value("grace", "D", .duration, "between SIGTERM and SIGKILL (10s)")
    static let successCodes = Option.value("success-codes", "N,...", .text, "exit codes that count as success (0)")
    static let leftovers = Option.value(
        "leftovers", "HOW", .choice(["kill", "wait", "leave"]), "what becomes of processes it leaves behind (kill)")
    static let completion = Option.value(
        "completion", "HOW", .choice(["exit", "notify"]),
        "exit: ends with its process; notify: ends when told, as by opsctl finish (exit)")
    static let observer = Option.value(
        "observer", "WHEN=COMMAND", .keyValue,
        "run COMMAND on start, finish, or when it adds a child (produce), with the event on standard input"
    )
    .known(as: "observers")

    static let retry = Option.value("retry", "r", "N", .integer, "attempts beyond the first")
    static let retryBackoff = Option.value("retry-backoff", "D", .duration, "before the second attempt (1s)")
    static let retryFactor = Option.value("retry-factor", "F", .number, "how the back-off grows (2)")
    static let retryMax = Option.value("retry-max", "D", .duration, "longest back-off (5m)")
    static let retryJitter = Option.value("retry-jitter", "F", .number, "random part of the back-off (0.1 = 10 %)")
    static let retryOn = Option.value(
        "retry-on", "OUTCOMES", .choices(["failed", "timedOut", "interrupted"]), "which outcomes (failed,timedOut)")
    static let retryExitCodes = Option.value("retry-exit-codes", "N,...", .text, "only after these exit codes")

    // What it may use, and where its output goes.
    static let limit = Option.value(
        "limit", "K=V", .keyValue,
        "nice, memory, tasks, cpuWeight, cpuQuota, openFiles, fileSize or coreSize"
    )
    .known(as: "limits")
    static let sendOutput = Option.value(
        "output", "o", "WHERE", .file, "log, split, journal, null, or a file with a / in its path (log)")
    static let stdout = Option.value("stdout", "FILE", .file, "standard output goes to a file")
    static let stderrFile = Option.value("stderr", "FILE", .file, "standard error goes to a file (where --stdout goes)")

    // How it is submitted.
    static let file = Option.value("file", "f", "FILE", .file, "a graph: JSON, JSON Lines, or - for standard input")
    static let set = Option.value("set", "s", "K=V", .keyValue, "fills ${K} in the texts of the file")
    static let dryRun = Option.flag("dry-run", "validate, and tell what would be stored")
    static let each = Option.value(
        "each", "FILE", .file, "one operation a line of FILE or -; {} is the line, in values of options too")
    static let array = Option.value(
        "array", "A-B[:STEP]", .text,
        "one operation an index; {}, in values of options too, and $OPS_INDEX are the index")
    static let graphName = Option.value("graph-name", "NAME", .text, "the name of the graph")
    static let key = Option.value(
        "key", "k", "KEY", .text, "if KEY was submitted before, return that operation instead of a new one")
    static let unlessActive = Option.value(
        "unless-active", "KEY", .text, "like --key, but only while that operation is unfinished")
    static let child = Option.flag("child", "a child of the operation within which this is called")
}

extension OptionGroup {
    static let identity = OptionGroup(
        "What it is",
        [.name, .shell, .directory, .env, .cleanEnv, .umask, .stdin, .runAs, .labels])
    static let order = OptionGroup(
        "When it runs",
        [
            .toQueue, .priority, .qos, .after, .afterFinished, .afterFailed, .afterStarted, .category, .barrier,
            .condition, .hold, .delay, .at,
        ])
    static let ending = OptionGroup(
        "How it ends",
        [
            .timeout, .deadline, .grace, .successCodes, .leftovers, .completion, .observer, .retry, .retryBackoff,
            .retryFactor, .retryMax, .retryJitter, .retryOn, .retryExitCodes,
        ])
    static let resources = OptionGroup(
        "What it uses", [.limit, .sendOutput, .stdout, .stderrFile])
    static let submission = OptionGroup(
        "Submitting",
        [.file, .set, .dryRun, .each, .array, .graphName, .key, .unlessActive, .child])
    /// The same for `run`, which needs one stored operation or graph: without dry runs and lists.
    static let running = OptionGroup(
        "Submitting", [.file, .set, .graphName, .key, .unlessActive, .child])

    /// The options that describe one operation.
    static let operation = [identity, order, ending, resources]
}

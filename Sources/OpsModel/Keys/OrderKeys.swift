/// Keys for the start of an operation.
extension KeyEntry {
    static var queue: KeyEntry {
        KeyEntry(
            .order, .editable, .name,
            .init(
                default: "that of the group around it, else `default`", "The queue, which has to exist.",
                example: #""queue": "nightly""#),
            options: [
                .value("queue", "q", "Q", .queue, "queue that it belongs to (default: the queue default)").written(
                    as: .text)
            ])
    }

    static var priority: KeyEntry {
        KeyEntry(
            .order, .editable,
            .either([.integer(Limits.priority), .choice(PriorityName.words)]),
            .init(
                default: "that of the group around it, else `normal`",
                "Ready operations start in the order of their priorities. An operation has at least the priority "
                    + "of those that wait for it. The names stand for -8, -4, 0, 4 and 8. Ordinary users may use "
                    + "up to \(Limits.ordinaryPriority).",
                example: #""priority": "high""#),
            options: [
                .value("priority", "p", "P", .text, "-100...100, or veryLow, low, normal, high, veryHigh (normal)")
            ])
    }

    static var qos: KeyEntry {
        KeyEntry(
            .order, .process,
            .choice(["userInteractive", "userInitiated", "default", "utility", "background"]),
            .init(
                default: "`default`",
                "The share of processor and disk that the processes get: a larger one for `userInteractive` and "
                    + "`userInitiated`, a smaller one and `nice` 5 for `utility`, the smallest and `nice` 15 for "
                    + "`background`.",
                example: #""qos": "background""#),
            options: [
                .value(
                    "qos", "CLASS",
                    .choice(["userInteractive", "userInitiated", "default", "utility", "background"]),
                    "CPU and I/O class of the processes"
                ).written(as: .text)
            ])
    }

    static var after: KeyEntry {
        KeyEntry(
            .order, .start,
            .list(
                .either([
                    .reference,
                    .object([
                        .init("op", .reference, "The operation that is waited for."),
                        .init(
                            "when", .choice(["succeeded", "finished", "failed", "started"]), default: "`succeeded`",
                            "The event of that operation after which this one may start; `finished` is any "
                                + "outcome, `failed` any outcome but success."),
                    ]),
                ]), 0...Limits.edgesPerSubmission),
            .init(
                default: "no dependencies",
                "The operations that this one waits for: names in this graph, ids, or `NAME@GRAPH`. If the event "
                    + "can no longer happen, this operation is skipped. Cycles are refused.",
                example: #""after": ["compile", {"op": "test", "when": "failed"}]"#),
            options: [
                .value("after", "a", "OPS", .operation, "start after these have succeeded: 12,build@g3"),
                .value("after-finished", "OPS", .operation, "start after these have finished, whatever the outcome"),
                .value("after-failed", "OPS", .operation, "start after these have finished without success"),
                .value("after-started", "OPS", .operation, "start after these have started"),
            ])
    }

    static var categories: KeyEntry {
        KeyEntry(
            .order, .editable,
            .list(
                .either([
                    .name,
                    .object([
                        .init("name", .name, "Name of the category."),
                        .init(
                            "units", .integer(1...Int64(Int32.max)), default: "1", "Number of units of its capacity."),
                        .init(
                            "mode", .choice(["units", "exclusive", "shared"]), default: "`units`",
                            "`shared` allows other shared uses at the same time; `exclusive` allows no other use."),
                    ]),
                ]), 0...Limits.categoriesPerOperation),
            .init(
                default: "none",
                "The categories that the operation holds while it executes. The capacity of a category is 1 "
                    + "unless it is set, so two operations with the same category do not execute at once.",
                example: #""categories": ["db", {"name": "gpu", "units": 2}]"#),
            options: [
                .value(
                    "category", "c", "NAME[:HOW]", .category,
                    "never run at the same time as others of the category; HOW is shared, exclusive or a number of units"
                ).known(as: "categories")
            ],
            editing: [
                .value("category", "c", "NAME[:HOW]|none", .category, "replace all its categories")
            ])
    }

    static var barrier: KeyEntry {
        KeyEntry(
            .order, [], .boolean,
            .init(
                default: "false",
                "The operation starts after all earlier operations of its queue have finished, and all later "
                    + "ones wait for it.",
                "A barrier of root, or of the user of the daemon, waits for and holds back the operations of "
                    + "every user; a barrier of another user only that user's own.", example: #""barrier": true"#),
            options: [
                .flag("barrier", "start after everything earlier in the queue, and before everything later").written(
                    as: .flag)
            ])
    }

    static var held: KeyEntry {
        KeyEntry(
            .order, .start, .boolean,
            .init(default: "false", "The operation waits for opsctl resume.", example: #""held": true"#),
            options: [.flag("hold", "do not start before opsctl resume").known(as: "held").written(as: .flag)])
    }

    static var notBefore: KeyEntry {
        KeyEntry(
            .order, [.start, .editable, .removable], .time,
            .init(
                default: "at once", "The operation does not start before this instant.",
                example: #""notBefore": "2026-12-24T22:00:00+01:00""#),
            options: [
                .value("delay", "D", .duration, "do not start before this time has passed").written(as: .time),
                .value(
                    "at", "TIME", .time,
                    "do not start before this instant: 22:00, \"tomorrow 06:00\", RFC 3339, or 5m from now"
                )
                .known(as: "not-before").written(as: .time),
            ],
            editing: [
                .value("not-before", "TIME", .time, "a duration from now, or an instant").known(as: "at")
                    .written(as: .time)
            ])
    }

    /// Tests of conditions, by name.
    private static let plainTests: [ValueForm.Member] = [
        .init("pathExists", .path, default: "", "The path exists for the operation's user."),
        .init(
            "reachable", .text(maxBytes: 300), default: "", "`HOST:PORT` accepts a TCP connection; IPv6 as `[::1]:80`."),
        .init(
            "exec", .argumentVector, default: "",
            "The command exits with status 0. It runs as the operation's user, in its directory and environment, with "
                + "the results of its dependencies and its secrets."),
        .init(
            "freeSpace",
            .object([
                .init("path", .path, "A path in the file system."),
                .init("atLeast", .size, "Free bytes for ordinary users."),
            ]), default: "", "The file system of `path` has at least `atLeast` free bytes."),
        .init(
            "loadBelow", .number(0...Double(Int32.max)), default: "",
            "The load average of one minute is below this number."),
        .init("memoryAvailable", .size, default: "", "At least this much memory is available."),
        .init(
            "window", .text(maxBytes: 11), default: "",
            "The local time is within `FROM-TO`. A window such as `22:00-06:00` includes midnight."),
        .init(
            "dependenciesSucceeded", .boolean, default: "",
            "With `true`: all operations in `after` have succeeded or were not needed."),
        .init(
            "newer",
            .object([
                .init(
                    "inputs", .list(.text(maxBytes: Limits.pathBytes), 0...Limits.patterns),
                    "Patterns of input files."),
                .init(
                    "outputs", .list(.text(maxBytes: Limits.pathBytes), 1...Limits.patterns),
                    "Patterns of output files."),
            ]), default: "",
            "An output is missing or older than an input, or an input that is not a pattern does not exist. A pattern "
                + "of inputs may match no file. The members are `inputs` and `outputs`, each an array of patterns. "
                + "Patterns such as `src/**/*.c` are relative to the directory of the operation. With "
                + "`\"otherwise\": \"succeed\"` the operation runs only if its outputs are not up to date."
        ),
    ]

    private static let negation = ValueForm.Member(
        "not", .test, default: "", "An object with one of these tests, which must be false.")

    private static let timeLimitOfTest = ValueForm.Member(
        "timeout", .duration(canBeZero: false), default: "`\"10s\"`",
        "With `exec`: the time limit of the command. If it takes longer, the condition cannot be evaluated.")

    /// Members of an object with one test of a condition.
    static let tests = plainTests + [negation, timeLimitOfTest]

    static var conditions: KeyEntry {
        KeyEntry(
            .order, [],
            .list(
                .object(
                    plainTests + [
                        negation,
                        .init(
                            "otherwise", .choice(["fail", "skip", "wait", "succeed"]), default: "`fail`",
                            "Effect of a false condition: the operation fails, is skipped, waits until the "
                                + "condition is true, or succeeds without running, because it is up to date. If "
                                + "the condition cannot be evaluated, the operation fails; with `wait`, it is "
                                + "evaluated again."),
                        .init(
                            "every", .duration(canBeZero: false), default: "`\"10s\"`",
                            "How long a true result remains valid, a second at least; with `wait`, also the time "
                                + "after which a false condition is evaluated again, after a second at the earliest."
                        ),
                        timeLimitOfTest,
                        .init(
                            "provide", .operation, default: "none",
                            "An operation that is meant to make the condition true. It is submitted together "
                                + "with this one, which waits for its end. It is cancelled when no operation "
                                + "needs it any more. Its own conditions may provide operations too, at most "
                                + "\(Limits.providedDepth) deep."),
                        .init("silent", .boolean, default: "false", "`true`: `provide` is not submitted."),
                    ]), 0...Limits.conditionsPerOperation),
            .init(
                default: "none",
                "Conditions that must be true when the operation starts. Each is an object with one test. They "
                    + "are evaluated when its turn comes, one after the other; all of them together may take 10 "
                    + "minutes.",
                example: #""conditions": [{"exec": ["ping", "-c1", "db"], "otherwise": "wait", "every": "30s"}]"#),
            options: [
                .value(
                    "condition", "COND", .text,
                    "must be true at the start, otherwise it fails (wait: waits, skip: skips, succeed: succeeds at once): JSON, or [wait:|skip:|succeed:][!]FORM with pathExists=P, reachable=HOST:PORT, exec=COMMAND, "
                        + "freeSpace=PATH:1G, loadBelow=4, memoryAvailable=1G, window=22:00-06:00, dependenciesSucceeded"
                ).known(as: "conditions")
            ])
    }
}

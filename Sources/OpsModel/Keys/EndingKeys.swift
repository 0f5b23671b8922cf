/// Keys for the end of an operation.
extension KeyEntry {
    static var timeout: KeyEntry {
        KeyEntry(
            .ending, [.editable, .removable], .duration(canBeZero: false),
            .init(
                default: "no limit",
                "Time limit of each attempt. An attempt that takes longer is ended and has timed out. For a "
                    + "group the time counts from its start.", example: #""timeout": "10m""#),
            options: [.value("timeout", "t", "D", .duration, "time limit per attempt").written(as: .text)])
    }

    static var deadline: KeyEntry {
        KeyEntry(
            .ending, [.editable, .removable], .time,
            .init(
                default: "none", "An operation that is not finished by then is ended, and has timed out.",
                example: #""deadline": "2026-12-24T06:00:00Z""#),
            options: [
                .value("deadline", "TIME", .time, "must finish by TIME, else it times out").written(as: .time)
            ])
    }

    static var grace: KeyEntry {
        KeyEntry(
            .ending, [.process, .editable], .duration(canBeZero: true),
            .init(default: "`\"10s\"`", "The time between SIGTERM and SIGKILL.", example: #""grace": "1m""#),
            options: [.value("grace", "D", .duration, "time between SIGTERM and SIGKILL (10s)").written(as: .text)])
    }

    static var successCodes: KeyEntry {
        KeyEntry(
            .ending, [.process, .editable], .list(.integer(0...255), 1...Limits.exitCodes),
            .init(
                default: "`[0]`", "The exit codes that count as success.", example: #""successCodes": [0, 3]"#),
            options: [
                .value("success-codes", "N,...", .text, "exit codes that count as success (0)").written(as: .codes)
            ])
    }

    static var leftovers: KeyEntry {
        KeyEntry(
            .ending, [.process, .editable], .choice(["kill", "wait", "leave"]),
            .init(
                default: "`kill`",
                "How to treat processes that outlive the main process: kill them, wait for them, or leave them "
                    + "running. Of an operation that is cancelled or times out, all are killed.",
                example: #""leftovers": "wait""#),
            options: [
                .value(
                    "leftovers", "HOW", .choice(["kill", "wait", "leave"]),
                    "kill, wait for or leave processes that outlive the command (kill)"
                ).written(as: .text)
            ])
    }

    static var completion: KeyEntry {
        KeyEntry(
            .ending, .process, .choice(["exit", "notify"]),
            .init(
                default: "`exit`",
                "`exit`: the operation ends with its process. `notify`: it ends when it gets the message "
                    + "`X_OPS_FINISHED` at its `NOTIFY_SOCKET`, or with opsctl finish.",
                example: #""completion": "notify""#),
            options: [
                .value(
                    "completion", "HOW", .choice(["exit", "notify"]),
                    "exit: ends with its process; notify: ends with opsctl finish or opsctl tell --done (exit)"
                ).written(as: .text)
            ])
    }

    static var observers: KeyEntry {
        KeyEntry(
            .ending, [],
            .object([
                .init("start", .argumentVector, default: "none", "When an attempt starts."),
                .init(
                    "produce", .argumentVector, default: "none",
                    "When the operation submits another one."),
                .init("finish", .argumentVector, default: "none", "When the operation has finished."),
                .init(
                    "failed", .argumentVector, default: "none",
                    "When the operation has failed, has timed out or was interrupted."),
            ]),
            .init(
                default: "none",
                "Commands that opsd runs at certain moments, as the user of the operation, in its directory and "
                    + "environment, with the event as JSON on standard input. Their exit status does not affect "
                    + "the operation. `finish` runs at least once, even if opsd is restarted.",
                example: #""observers": {"finish": ["notify-team"]}"#),
            options: [
                .value(
                    "observer", "WHEN=COMMAND", .keyValue,
                    "run COMMAND on start, finish, failed, or when it submits another operation (produce), with the "
                        + "event on standard input"
                ).known(as: "observers")
            ])
    }

    static var retry: KeyEntry {
        KeyEntry(
            .ending, [.process, .editable, .removable],
            .object([
                .init("limit", .integer(0...Limits.retries), "Attempts beyond the first."),
                .init("backoff", .duration(canBeZero: true), default: "`\"1s\"`", "Time before the second attempt."),
                .init("factor", .number(1...1000), default: "2", "How the time grows from attempt to attempt."),
                .init("max", .duration(canBeZero: true), default: "`\"5m\"`", "The longest time between two attempts."),
                .init("jitter", .number(0...1), default: "0.1", "Random part of the time, to either side."),
                .init(
                    "on", .list(.choice(["failed", "timedOut", "interrupted"]), 0...3),
                    default: "`[\"failed\", \"timedOut\"]`", "The outcomes that are tried again."),
                .init(
                    "exitCodes", .list(.integer(0...255), 1...Limits.exitCodes), default: "all",
                    "Retry a failure only if it has one of these exit codes."),
                .init(
                    "scale",
                    .object(
                        RetryScale.names.map { .init($0, .number(Limits.scaleFactor), default: "1", "Its factor.") }),
                    default: "nothing",
                    "Factors for `timeout`, or for any of `limits` except `nice`, by which each further attempt "
                        + "multiplies them. A value that the operation does not have stays absent, and none "
                        + "grows beyond the maximum of its key."),
            ]),
            .init(
                default: "no further attempts", "Further attempts after one that did not succeed.",
                "With `\"scale\": {\"limits.memory\": 2, \"timeout\": 1.5}` each attempt has twice the memory "
                    + "and one and a half times the time of the previous one: 64M, 128M, 256M. opsctl retry "
                    + "begins with the first values again.",
                "opsctl set changes only the members that it names. `none` as the value of its `--retry` removes "
                    + "all of them.",
                example: #""retry": {"limit": 3, "backoff": "10s"}"#),
            options: [
                .value("retry", "r", "N", .integer, "number of retries after the first attempt").written(
                    as: .integer, member: "limit"),
                .value("retry-backoff", "D", .duration, "delay before the first retry (1s)")
                    .written(as: .text, member: "backoff"),
                .value("retry-factor", "F", .number, "factor by which the delay grows (2)")
                    .written(as: .number, member: "factor"),
                .value("retry-max", "D", .duration, "longest delay (5m)").written(as: .text, member: "max"),
                .value("retry-jitter", "F", .number, "random part of the delay (0.1 = 10 %)")
                    .written(as: .number, member: "jitter"),
                .value(
                    "retry-on", "OUTCOMES", .choices(["failed", "timedOut", "interrupted"]),
                    "outcomes that are retried (failed,timedOut)"
                ).written(as: .words, member: "on"),
                .value("retry-exit-codes", "N,...", .text, "retry only after these exit codes")
                    .written(as: .codes, member: "exitCodes"),
                .value(
                    "retry-scale", "K=F", .keyValue,
                    "multiply timeout or a limit by F for each further attempt: timeout=1.5, limits.memory=2"
                ).written(as: .factors, member: "scale"),
            ])
    }
}

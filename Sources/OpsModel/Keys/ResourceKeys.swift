/// Keys for the resources of an operation.
extension KeyEntry {
    static var limits: KeyEntry {
        KeyEntry(
            .resources, .process,
            .object([
                .init(
                    "nice", .integer(Limits.nice), default: "that of `qos`",
                    "The nice value of its processes; only root may use negative values."),
                .init("memory", .size, default: "none", "Memory of all its processes together, at least 1 byte."),
                .init("tasks", .integer(1...Int64(Int32.max)), default: "none", "Processes and threads of its tree."),
                .init(
                    "cpuWeight", .integer(1...10_000), default: "that of `qos`",
                    "Share of the processor, where 100 is the default of every control group."),
                .init(
                    "cpuQuota", .percent, default: "none", "Processor time; `\"150%\"` is one and a half processors."),
                .init(
                    "openFiles", .integer(1...Int64(Int32.max)), default: "that of opsd-runner",
                    "Number of open files of each process."),
                .init("fileSize", .size, default: "that of opsd-runner", "Size of a file that a process writes."),
                .init("coreSize", .size, default: "that of opsd-runner", "Size of a core dump."),
            ]),
            .init(
                default: "none",
                "Limits of the operation's processes. `memory`, `tasks`, `cpuWeight` and `cpuQuota` need a "
                    + "control group. A limit that this machine cannot enforce is refused at the submission.",
                example: #""limits": {"memory": "2G", "cpuQuota": "150%"}"#),
            options: [
                .value(
                    "limit", "K=V", .keyValue,
                    "resource limit: nice, memory, tasks, cpuWeight, cpuQuota, openFiles, fileSize or coreSize"
                ).known(as: "limits").written(as: .quantities)
            ])
    }

    static var output: KeyEntry {
        KeyEntry(
            .resources, .process,
            .either([
                .choice(["log", "split", "journal", "null"]),
                .object(
                    [
                        .init("stdout", .path, default: "that of `stderr`", "The file for standard output."),
                        .init("stderr", .path, default: "that of `stdout`", "The file for standard error."),
                    ], canBeEmpty: false),
            ]),
            .init(
                default: "`log`",
                "Destination of standard output and standard error: one log, which opsctl log shows; a log for "
                    + "each; the journal; nowhere; or files, which are created or truncated with the rights of "
                    + "the operation's user. A relative path is relative to the directory of the operation.",
                example: #""output": {"stdout": "result.txt", "stderr": "errors.txt"}"#),
            options: [
                .value(
                    "output", "o", "WHERE", .file,
                    "destination: log, split, journal, null, or a file with a / in its path (log)"),
                .value("stdout", "FILE", .file, "write standard output to a file"),
                .value("stderr", "FILE", .file, "write standard error to a file (default: as --stdout)"),
            ])
    }
}

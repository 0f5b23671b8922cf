/// Keys for the executor of an operation.
extension KeyEntry {
    static var executor: KeyEntry {
        KeyEntry(
            .resources, .process, .name,
            .init(
                default: "that of the queue, else `local`",
                "The executor that runs the operation: `local` is this machine, other executors are sections of "
                    + "opsd.conf(5). An operation on another executor takes no worker of this machine. It waits "
                    + "while its executor is not connected.",
                example: #""executor": "cluster""#),
            options: [
                .value("executor", "NAME", .text, "executor that runs it: local, or a section of opsd.conf (local)")
                    .written(as: .text)
            ])
    }

    static var slurm: KeyEntry {
        KeyEntry(
            .resources, .process,
            .object([
                .init(
                    "cpus", .integer(1...Int64(Int32.max)), default: "Slurm's default",
                    "Number of processors of each task."),
                .init("memory", .size, default: "Slurm's default", "Memory on each node, at least 1M."),
                .init("gpus", .integer(1...Int64(Int32.max)), default: "none", "Number of GPUs of the job."),
                .init(
                    "nodes", .integer(1...Int64(Int32.max)), default: "Slurm's default",
                    "Number of nodes of the job."),
                .init(
                    "tasks", .integer(1...Int64(Int32.max)), default: "Slurm's default",
                    "Number of tasks of the job."),
                .init("partition", .text(maxBytes: 200), default: "Slurm's default", "Partition of the job."),
                .init("account", .text(maxBytes: 200), default: "Slurm's default", "Account that is charged."),
                .init("qos", .text(maxBytes: 200), default: "Slurm's default", "Quality of service of the job."),
                .init(
                    "constraint", .text(maxBytes: 200), default: "none",
                    "Features that the nodes must have, such as `intel&gpu`."),
                .init(
                    "pack", .integer(1...1000), default: "1",
                    "Maximum number of operations that share a job, in which they run one after another. Operations "
                        + "with equal resources that are sent to Slurm at the same time share jobs. Each has its own "
                        + "log and outcome. The time limit of the job is that of one operation, multiplied by the "
                        + "number of operations in it."),
                .init(
                    "args", .list(.text(maxBytes: 1000), 0...100), default: "none",
                    "Other long options of sbatch, one in each text, such as `--gres=gpu:1`. Options that opsd "
                        + "sets itself are refused."),
            ]),
            .init(
                default: "none",
                "Resources of the Slurm job that runs the operation, if its executor is of kind `slurm`.",
                example:
                    #""slurm": {"cpus": 4, "memory": "8G", "partition": "long", "pack": 10, "args": ["--exclusive"]}"#),
            options: [
                .value(
                    "slurm", "K=V", .keyValue, "resource of its Slurm job: cpus, memory, gpus, nodes, partition, ..."
                )
                .written(as: .quantities)
            ])
    }

    static var http: KeyEntry {
        KeyEntry(
            .resources, [.process, .single],
            .object([
                .init(
                    "url", .text(maxBytes: 8192, pattern: "^[Hh][Tt][Tt][Pp][Ss]?://"),
                    "The address, `http://` or `https://`."),
                .init("to", .path, "The file that is created or replaced."),
                .init(
                    "sha256", .text(maxBytes: 64, pattern: "^[0-9A-Fa-f]{64}$"), default: "none",
                    "Checksum of the content, 64 hexadecimal digits."),
                .init("headersFile", .path, default: "none", "A file with additional request headers, `Name: value`."),
                .init("limitRate", .size, default: "none", "Maximum number of bytes per second."),
            ]),
            .init(
                default: "none",
                "A file to fetch, instead of a command to run. Unless the operation names an executor, the transfer "
                    + "runs on that of the queue if it is of kind `transfer`, else on the first one of this kind in "
                    + "opsd.conf(5), or on the built-in one, `transfer`.",
                example: #""http": {"url": "https://example.org/data.tar", "to": "data.tar"}"#))
    }
}

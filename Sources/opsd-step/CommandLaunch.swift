internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// The process that a launch asks for, on the node of its job.
enum CommandLaunch {
    /// Variables of Slurm that a command needs besides its own: srun and libraries of GPUs read them.
    private static let inherited = [
        "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
    ]

    static func spawn(_ request: LaunchRequest, _ paths: SpoolPaths) -> Spawn {
        // The submission itself may have been made inside another job.
        var environment = CStringArray()
        request.environment.visit { word in
            if !word.starts(with: "SLURM_".utf8) { environment.append(word) }
        }
        for entry in Environment.all {
            let name = entry.prefix { $0 != "=" }
            // Operations of an array are equal, and do not know of it.
            if name.hasPrefix("SLURM_ARRAY_") { continue }
            if name.hasPrefix("SLURM_") || name.hasPrefix("SLURMD_") || inherited.contains(String(name)) {
                environment.append(entry)
            }
        }
        var spawn = Spawn(arguments: request.arguments, environment: environment)
        spawn.directory = request.directory
        spawn.umask = request.umask
        // Nothing else waits for this process, and the file system of a cluster may be slow.
        spawn.hasStartLimit = false
        spawn.standardInput = .reading(request.stdin)
        switch request.output {
        case .log, .journal: spawn.standardOutput = .writing(paths.output)
        case .split:
            spawn.standardOutput = .writing(paths.output)
            spawn.standardError = .writing(paths.errors)
        case .paths(let stdout, let stderr):
            spawn.standardOutput = .writing(stdout)
            if stderr != stdout { spawn.standardError = .writing(stderr) }
        case .null: break
        }
        spawn.nice = request.priority.nice
        spawn.limits = request.resourceLimits.map { limit in
            Spawn.Limit(resource: limit.resource.number, soft: limit.soft, hard: limit.hard)
        }
        return spawn
    }
}

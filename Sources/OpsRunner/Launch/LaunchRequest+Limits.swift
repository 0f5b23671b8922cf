internal import OpsExecutor
internal import OpsSystem

extension ResourceLimit.Resource {
    /// Number of the resource in the kernel, the same on every architecture that Swift runs on.
    var number: Int32 {
        switch self {
        case .fileSize: 1
        case .coreSize: 4
        case .openFiles: 7
        }
    }
}

extension ControlLimits {
    func apply(to group: ControlGroup) throws(SystemError) {
        if let memoryBytes {
            try group.set("memory.max", String(memoryBytes))
            // When memory runs out the whole tree is killed, not one process of it.
            try group.set("memory.oom.group", "1")
        }
        if let tasks { try group.set("pids.max", String(tasks)) }
        if let cpuWeight { try group.set("cpu.weight", String(cpuWeight)) }
        if let cpuMicrosecondsPerSecond { try group.set("cpu.max", "\(cpuMicrosecondsPerSecond / 10) 100000") }
    }
}

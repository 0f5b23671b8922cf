internal import OpsExecutor
internal import OpsSystem

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

internal import OpsExecutor
internal import OpsSystem
internal import OpsWire

/// Limits that this machine can enforce: those of a whole process tree need controllers of the runner's control group,
/// and some of a process need rights of the runner.
struct EnforceableLimits: Sendable {
    /// Controllers of the runner; nil: not known yet.
    private let controllers: Set<String>?
    /// Rights of the runner; nil: not known.
    private let rights: ProcessRights?

    init(_ capabilities: ExecutorCapabilities?, rights: ProcessRights? = nil) {
        controllers = capabilities?.controllers
        self.rights = rights
    }

    /// Returns the keys of limits that cannot be enforced, with advice.
    func problems(with limits: OperationDetails.ResourceLimits) -> [(key: String, message: String)] {
        let asked = [
            ("memory", "memory", limits.memory), ("tasks", "pids", limits.tasks),
            ("cpuWeight", "cpu", limits.cpuWeight), ("cpuQuota", "cpu", limits.cpuQuota),
        ]
        return beyondRights(limits)
            + asked.compactMap { key, controller, value in
                guard value != nil else { return nil }
                guard let controllers else {
                    return (key, "opsd does not know yet whether this machine can enforce it; try again")
                }
                if controllers.contains(controller) { return nil }
                return (
                    key,
                    "this machine cannot enforce it: the runner has no control group with the \(controller) controller "
                        + "(run opsd-runner.service under systemd, or leave it out)"
                )
            }
    }

    private func beyondRights(_ limits: OperationDetails.ResourceLimits) -> [(key: String, message: String)] {
        guard let rights else { return [] }
        var problems: [(key: String, message: String)] = []
        if let nice = limits.nice, nice < rights.lowestNice {
            problems.append(("nice", "the runner may not go below \(rights.lowestNice)"))
        }
        if let files = limits.openFiles, files > rights.mostOpenFiles {
            problems.append(("openFiles", "the runner may allow at most \(rights.mostOpenFiles)"))
        }
        return problems
    }
}

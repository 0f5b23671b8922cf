internal import OpsRunner
internal import OpsWire

/// Which limits this machine can keep: those of a whole tree need controllers of the runner's control group.
struct EnforceableLimits: Sendable {
    /// Nil: no runner has said yet.
    private let controllers: Set<String>?

    init(_ abilities: RunnerAbilities?) { controllers = abilities?.controllers }

    /// The keys that cannot be kept, and what to do.
    func problems(with limits: OperationDetails.ResourceLimits) -> [(key: String, message: String)] {
        let asked = [
            ("memory", "memory", limits.memory), ("tasks", "pids", limits.tasks),
            ("cpuWeight", "cpu", limits.cpuWeight), ("cpuQuota", "cpu", limits.cpuQuota),
        ]
        return asked.compactMap { key, controller, value in
            guard value != nil else { return nil }
            guard let controllers else {
                return (key, "no runner has said yet whether this machine can keep it; try again")
            }
            if controllers.contains(controller) { return nil }
            return (
                key,
                "this machine cannot keep it: the runner has no control group with the \(controller) controller "
                    + "(run opsd-runner.service under systemd, or leave it out)"
            )
        }
    }
}

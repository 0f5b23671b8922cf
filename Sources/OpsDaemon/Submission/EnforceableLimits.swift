internal import OpsLinux
internal import OpsWire

/// Which limits this machine can keep: those of a whole tree need controllers delegated to the runner's control group.
struct EnforceableLimits {
    /// Asked for where a limit needs one: most submissions name none.
    private let controllers: () -> Set<String>

    init(runner pid: Int32?) {
        controllers = { pid.map(Self.controllers) ?? [] }
    }

    init(controllers: Set<String>) { self.controllers = { controllers } }

    private static func controllers(of pid: Int32) -> Set<String> {
        // What cannot be read cannot be relied on: such a limit is refused.
        guard let bytes = try? Files.read("/proc/\(pid)/cgroup", limit: 64 << 10) else { return [] }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where line.hasPrefix("0::") {
            let path = line.dropFirst(3)
            for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
                // As above.
                guard let found = try? Files.read("\(root)\(path)/cgroup.controllers", limit: 4096) else { continue }
                return Set(
                    String(decoding: found, as: UTF8.self).split(whereSeparator: { $0 == " " || $0 == "\n" }).map(
                        String.init))
            }
        }
        return []
    }

    /// The keys that cannot be kept, and what to do.
    func problems(with limits: OperationDetails.ResourceLimits) -> [(key: String, message: String)] {
        let asked = [
            ("memory", "memory", limits.memory), ("tasks", "pids", limits.tasks),
            ("cpuWeight", "cpu", limits.cpuWeight),
            ("cpuQuota", "cpu", limits.cpuQuota),
        ]
        return asked.compactMap { key, controller, value in
            guard value != nil, !controllers().contains(controller) else { return nil }
            return (
                key,
                "this machine cannot keep it: the runner has no control group with the \(controller) controller "
                    + "(run opsd-runner.service under systemd, or leave it out)"
            )
        }
    }
}

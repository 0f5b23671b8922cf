internal import OpsExecutor

/// Command line of opsd-slurm.
struct CommandLineOptions {
    /// State directory of opsd, an absolute path.
    var state = ""
    /// Name of the executor in opsd.conf.
    var name = "slurm"
    /// Configuration file of opsd.
    var config: String?

    /// Returns nil for anything but `--state DIR [--name NAME] [--config FILE]`.
    init?(arguments: [String]) {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            switch option {
            case "--state": state = value
            case "--name": name = value
            case "--config": config = value
            default: return nil
            }
        }
        guard state.hasPrefix("/"), !name.isEmpty, !name.contains("/") else { return nil }
    }

    var socketPath: String { "\(state)/\(LaunchProtocol.socketName(executor: name))" }
    var lockPath: String { "\(state)/\(LaunchProtocol.lockName(executor: name))" }
    /// File with the name of this executor in comments of jobs.
    var instancePath: String { "\(state)/executor-\(name).instance" }
    /// Spool directory, unless opsd.conf names another.
    var usualSpool: String { "\(state)/executor-\(name).spool" }
}

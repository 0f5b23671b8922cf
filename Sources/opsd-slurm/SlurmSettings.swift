internal import OpsSystem
internal import OpsWire

/// The settings of this program in the section `[executor NAME]` of opsd.conf.
struct SlurmSettings {
    /// Time between two listings of all jobs.
    private(set) var interval = TimeSpan.seconds(15)
    /// Directory that compute nodes see, too; empty: in the state directory.
    private(set) var spool = ""
    /// Options of each submission.
    private(set) var arguments: [String] = []
    /// Time after which an attempt that Slurm lost counts as interrupted.
    private(set) var lostAfter = TimeSpan.seconds(600)

    init() {}

    init(_ settings: [(key: String, value: String)]) {
        for (key, value) in settings { set(key, to: value) }
    }

    private mutating func set(_ key: String, to value: String) {
        switch key {
        case "interval": interval = DurationText.parse(value) ?? interval
        case "spool": spool = value
        case "lost-after": lostAfter = DurationText.parse(value) ?? lostAfter
        case "args":
            arguments = value.split(separator: " ").map(String.init).filter { argument in
                guard let complaint = SlurmArgument.complaint(about: argument) else { return true }
                Program.writeError("opsd-slurm: args: \(argument) \(complaint)")
                return false
            }
        default: break
        }
    }
}

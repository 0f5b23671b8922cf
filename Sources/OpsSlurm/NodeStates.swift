/// States of the nodes of a cluster.
public enum NodeStates {
    public static let command = ["scontrol", "--all", "--oneliner", "show", "nodes"]

    private static let taking: Set<String> = ["IDLE", "ALLOCATED", "MIXED"]
    /// Further words of a state with which a node takes jobs, if not now, then later.
    private static let harmless: Set<String> = [
        "COMPLETING", "PLANNED", "RESERVED", "MAINTENANCE", "CLOUD", "DYNAMIC_NORM", poweredDown,
    ]
    /// Slurm starts such a node for a job.
    private static let poweredDown = "POWERED_DOWN"

    /// Returns whether all nodes answer and take jobs, according to the output of the command.
    public static func areAllUp(_ output: String) -> Bool {
        let nodes = output.split(separator: "\n")
        return !nodes.isEmpty && nodes.allSatisfy(isUp)
    }

    /// A controller that has just started shows nodes in the states that it had stored. It takes no job for them before they
    /// have registered; until then, it does not know when their daemons were started.
    private static func isUp(_ node: Substring) -> Bool {
        let fields = node.split(separator: " ")
        // The reason that an administrator has given comes last, and may look like fields.
        let value = { (key: String) in fields.first { $0.hasPrefix(key) }?.dropFirst(key.utf8.count) }
        let words = value("State=")?.split(separator: "+").map(String.init) ?? []
        guard let base = words.first, taking.contains(base), words.dropFirst().allSatisfy(harmless.contains) else {
            return false
        }
        return words.contains(poweredDown) || value("SlurmdStartTime=").map { $0 != "None" } ?? false
    }
}

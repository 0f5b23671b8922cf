/// Facts of a cluster that `scontrol show config` prints.
public enum ClusterConfiguration {
    public static let command = ["scontrol", "show", "config"]

    /// Returns the most tasks of an array; nil: the output does not say.
    public static func mostTasks(_ output: String) -> Int? {
        value("MaxArraySize", output).flatMap { Int($0) }.map { max($0 - 1, 1) }
    }

    /// Returns when the controller was started; nil: the output does not say.
    public static func controllerStart(_ output: String) -> Substring? { value("BOOT_TIME", output) }

    private static func value(_ key: String, _ output: String) -> Substring? {
        let line = output.split(separator: "\n").first { $0.hasPrefix(key + " ") }
        return line?.split(separator: "=").last?.split(separator: " ").first
    }
}

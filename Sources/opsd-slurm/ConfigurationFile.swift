internal import OpsSystem
internal import OpsWire

/// The settings of this program in the configuration of opsd: the section `[executor NAME]`.
struct ConfigurationFile {
    /// Time between two listings of all jobs.
    private(set) var interval: Int64 = 15_000_000_000
    /// Directory that compute nodes see, too; empty: in the state directory.
    private(set) var spool = ""
    /// Options of each submission.
    private(set) var arguments: [String] = []
    /// Time after which an attempt that Slurm lost counts as interrupted.
    private(set) var lostAfter: Int64 = 600_000_000_000

    init() {}

    /// Reads a file and its drop-ins, in the order of their names. opsd reports what is wrong in them.
    init(path: String, executor name: String) throws(SystemError) {
        var paths = [path]
        if Files.isDirectory("\(path).d") {
            let names = try Files.list("\(path).d").filter { $0.hasSuffix(".conf") }
            paths += names.sorted().map { "\(path).d/\($0)" }
        }
        for path in paths {
            guard let bytes = try Files.readIfPresent(path, limit: 1 << 20) else { continue }
            read(String(decoding: bytes, as: UTF8.self), section: "executor \(name)")
        }
    }

    private mutating func read(_ text: String, section wanted: String) {
        var isWanted = false
        for bytes in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let line = Self.trimmed(Substring(bytes))
            if line.hasPrefix("["), line.hasSuffix("]") {
                isWanted = Self.trimmed(line.dropFirst().dropLast()) == wanted
            } else if isWanted, !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") {
                let value = String(Self.trimmed(line[line.index(after: equals)...]))
                set(Self.trimmed(line[..<equals]), to: value)
            }
        }
    }

    private mutating func set(_ key: Substring, to value: String) {
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

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

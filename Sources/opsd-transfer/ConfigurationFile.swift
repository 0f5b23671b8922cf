internal import OpsSystem

/// The settings of this program in the configuration of opsd: the section `[executor NAME]`.
struct ConfigurationFile {
    /// Connections to one host at a time; further transfers wait.
    private(set) var connectionsPerHost = ConfigurationFile.usualConnectionsPerHost

    static let usualConnectionsPerHost = 4

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
            } else if isWanted, let equals = line.firstIndex(of: "="),
                Self.trimmed(line[..<equals]) == "per-host",
                let number = Int(Self.trimmed(line[line.index(after: equals)...]))
            {
                connectionsPerHost = number
            }
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

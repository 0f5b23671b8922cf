internal import OpsExecutor
public import OpsSystem

/// Command line of the program of an executor, and its settings in the configuration of opsd.
public struct ExecutorOptions {
    /// State directory of opsd, an absolute path.
    public private(set) var state = ""
    /// Name of the executor in opsd.conf.
    public private(set) var name: String
    /// Configuration file of opsd.
    private var config: String?

    /// Returns nil for anything but `--state DIR [--name NAME] [--config FILE]`.
    init?(arguments: [String], kind: String) {
        name = kind
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

    /// Reads the section `[executor NAME]` of the configuration file and its drop-ins, in the order of their names.
    /// opsd reports what is wrong in them.
    public func settings() throws(SystemError) -> [(key: String, value: String)] {
        guard let config else { return [] }
        var paths = [config]
        if Files.isDirectory("\(config).d") {
            let names = try Files.list("\(config).d").filter { $0.hasSuffix(".conf") }
            paths += names.sorted().map { "\(config).d/\($0)" }
        }
        var settings: [(key: String, value: String)] = []
        for path in paths {
            guard let bytes = try Files.readIfPresent(path, limit: 1 << 20) else { continue }
            settings += Self.settings(in: String(decoding: bytes, as: UTF8.self), section: ["executor", name])
        }
        return settings
    }

    private static func settings(in text: String, section wanted: [String]) -> [(key: String, value: String)] {
        var settings: [(key: String, value: String)] = []
        var isWanted = false
        for bytes in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let line = trimmed(Substring(bytes))
            if line.hasPrefix("["), line.hasSuffix("]") {
                isWanted = line.dropFirst().dropLast().split(whereSeparator: \.isWhitespace).map(String.init) == wanted
            } else if isWanted, !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") {
                settings.append((String(trimmed(line[..<equals])), String(trimmed(line[line.index(after: equals)...]))))
            }
        }
        return settings
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

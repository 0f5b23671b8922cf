/// Resources and other options of a Slurm job: the key `slurm`.
public struct SlurmOptions: Equatable, Sendable {
    public var cpus: Int64?
    /// Bytes of memory on each node.
    public var memory: Int64?
    public var gpus: Int64?
    public var nodes: Int64?
    public var tasks: Int64?
    public var partition: String?
    public var account: String?
    public var qos: String?
    public var constraint: String?
    /// Maximum number of operations that share a job.
    public var pack: Int64?
    /// Other options of sbatch.
    public var args: [String] = []
    public init() {}
}

/// A transfer instead of a command: the key `http`.
public struct HTTPOptions: Equatable, Sendable {
    public var url = ""
    /// Path of the downloaded file.
    public var to = ""
    /// Digest that the content must have, as lower-case hexadecimal digits.
    public var sha256: String?
    /// Path of a file with lines `Name: value`.
    public var headersFile: String?
    /// Maximum number of bytes per second.
    public var limitRate: Int64?
    public init() {}
}

extension SlurmOptions {
    private static let keys = [
        "cpus", "memory", "gpus", "nodes", "tasks", "partition", "account", "qos", "constraint", "pack",
        "args",
    ]

    init(from scanner: inout JSONScanner) throws(JSONError) {
        self.init()
        try scanner.members(of: Self.keys) { (key, scanner) throws(JSONError) in
            switch key {
            case "cpus": cpus = try scanner.integer(in: 1...Int64(Int32.max))
            case "memory": memory = try scanner.size(atLeast: 1 << 20)
            case "gpus": gpus = try scanner.integer(in: 1...Int64(Int32.max))
            case "nodes": nodes = try scanner.integer(in: 1...Int64(Int32.max))
            case "tasks": tasks = try scanner.integer(in: 1...Int64(Int32.max))
            case "partition": partition = try Self.word(&scanner)
            case "account": account = try Self.word(&scanner)
            case "qos": qos = try Self.word(&scanner)
            case "constraint": constraint = try Self.word(&scanner)
            case "pack": pack = try scanner.integer(in: 1...1000)
            default:
                args = []
                try scanner.elements(atMost: 100) { (scanner) throws(JSONError) in
                    let start = scanner.position
                    let argument = try scanner.plainString(atMost: 1000)
                    if let complaint = SlurmArgument.complaint(about: argument) {
                        throw scanner.error(.refused(complaint), at: start)
                    }
                    args.append(argument)
                }
            }
        }
    }

    private static func word(_ scanner: inout JSONScanner) throws(JSONError) -> String {
        let start = scanner.position
        let text = try scanner.plainString(atMost: 200)
        guard !text.isEmpty, !text.hasPrefix("-") else { throw scanner.error(.refused("is not a name"), at: start) }
        return text
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let cpus { writer.member("cpus", cpus) }
        if let memory { writer.member("memory", memory) }
        if let gpus { writer.member("gpus", gpus) }
        if let nodes { writer.member("nodes", nodes) }
        if let tasks { writer.member("tasks", tasks) }
        if let partition { writer.member("partition", partition) }
        if let account { writer.member("account", account) }
        if let qos { writer.member("qos", qos) }
        if let constraint { writer.member("constraint", constraint) }
        if let pack { writer.member("pack", pack) }
        if !args.isEmpty { writer.member("args", args) }
        writer.endObject()
    }
}

extension HTTPOptions {
    /// `isStored`: true if a submission, perhaps to an opsd with fewer checks, has accepted the values.
    init(from scanner: inout JSONScanner, isStored: Bool) throws(JSONError) {
        self.init()
        try scanner.members(of: ["url", "to", "sha256", "headersFile", "limitRate"], required: ["url", "to"]) {
            (key, scanner) throws(JSONError) in
            let start = scanner.position
            switch key {
            case "url":
                url = try scanner.plainString(atMost: 8192)
                if !isStored, let complaint = Self.complaint(about: url) {
                    throw scanner.error(.refused(complaint), at: start)
                }
            case "to":
                to = try scanner.path()
                if !isStored, to.hasSuffix("/") {
                    throw scanner.error(.refused("is not the path of a file"), at: start)
                }
            case "sha256":
                let text = try scanner.plainString(atMost: 64).lowercased()
                guard isStored || Self.isDigest(text) else {
                    throw scanner.error(.refused("is not 64 hexadecimal digits"), at: start)
                }
                sha256 = text
            case "headersFile": headersFile = try scanner.path()
            default: limitRate = try scanner.size(atLeast: 1)
            }
        }
    }

    /// Returns true for 64 hexadecimal digits.
    private static func isDigest(_ text: String) -> Bool {
        // Swift also calls the wide digits of East Asian texts hexadecimal.
        text.utf8.count == 64 && text.utf8.allSatisfy { JSONScanner.hexDigit($0) != nil }
    }

    /// Returns the problem of an address that no transfer can use; nil if there is none.
    private static func complaint(about url: String) -> String? {
        guard let scheme = ["http://", "https://"].first(where: { url.lowercased().hasPrefix($0) }) else {
            return "is not an address that begins with http:// or https://"
        }
        // libcurl reads bytes: an "@" with a combining character ends the user name, too.
        let authority = url.utf8.dropFirst(scheme.utf8.count).prefix { !"/?#".utf8.contains($0) }
        if authority.contains(UInt8(ascii: "@")) {
            return "must not contain a user name or password, which others could see; use \"headersFile\""
        }
        // The colons in brackets belong to an IPv6 address.
        let last = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        let end = authority[last...].firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
        if authority[..<end].isEmpty { return "has no host" }
        let port = Substring(authority[end...].dropFirst())
        if port.isEmpty || UInt16(digits: port) != nil { return nil }
        return "has a port that is not a number from 0 to 65535"
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("url", url)
        writer.member("to", to)
        if let sha256 { writer.member("sha256", sha256) }
        if let headersFile { writer.member("headersFile", headersFile) }
        if let limitRate { writer.member("limitRate", limitRate) }
        writer.endObject()
    }

    /// Equivalent command.
    var command: [String] {
        var words = ["opsd-fetch", url, "-o", to]
        if let sha256 { words += ["--sha256", sha256] }
        if let headersFile { words += ["--headers-file", headersFile] }
        if let limitRate { words += ["--limit-rate", String(limitRate)] }
        return words
    }
}

/// One element of `slurm.args`: an option of sbatch, written as one word.
public enum SlurmArgument {
    /// Options that the executor sets itself, or that would make a job impossible to find again.
    private static let reserved = [
        "array", "batch", "begin", "chdir", "clusters", "comment", "dependency", "error", "export", "export-file",
        "get-user-env", "gid", "help", "hold", "ignore-pbs", "input", "job-name", "kill-on-invalid-dep", "nice",
        "no-requeue", "open-mode", "output", "parsable", "priority", "propagate", "quiet", "requeue", "signal",
        "test-only", "time", "time-min", "uid", "usage", "version", "wait", "wrap",
    ]
    /// Options without a value.
    private static let flags = [
        "contiguous", "exclusive", "no-kill", "overcommit", "oversubscribe", "reboot", "spread-job", "use-min-nodes",
    ]

    /// Returns the problem of an argument; nil if sbatch may get it.
    public static func complaint(about argument: String) -> String? {
        guard argument.hasPrefix("--"), argument.utf8.count > 2 else {
            return "must be a long option of sbatch such as \"--gres=gpu:1\""
        }
        // sbatch reads bytes: a "=" with a combining character ends the name, too.
        let parts = argument.utf8.dropFirst(2).split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(Substring(parts[0]))
        // sbatch accepts any unique beginning of an option's name.
        if let option = reserved.first(where: { $0.hasPrefix(name) }), !flags.contains(name) {
            return "--\(option) is given by opsd"
        }
        // Without its value, an option would take the next argument as its value.
        if parts.count == 1, !flags.contains(name) { return "must have its value in the same text: --\(name)=VALUE" }
        return nil
    }
}

/// Surroundings of the process of an operation: everything that is neither scheduling nor command.
///
/// Stored as JSON in the same form as operations have it, so that one reader serves both.
public struct OperationDetails: Equatable, Sendable {
    public enum QualityOfService: String, Sendable, CaseIterable {
        case userInteractive, userInitiated, `default`, utility, background
    }

    public enum Output: Equatable, Sendable {
        case log, split, journal, null
        /// One of them may be absent and then goes to the log.
        case files(stdout: String?, stderr: String?)
    }

    public struct ResourceLimits: Equatable, Sendable {
        public var nice: Int32?
        public var memory: Int64?
        public var tasks: Int64?
        /// 1...10000; 100 is everyone's.
        public var cpuWeight: Int64?
        /// Percent of one CPU.
        public var cpuQuota: Int64?
        public var openFiles: Int64?
        public var fileSize: Int64?
        public var coreSize: Int64?
        public init() {}
    }

    public struct Observers: Equatable, Sendable {
        public var start: [String]?
        public var produce: [String]?
        public var finish: [String]?
        public var failed: [String]?
        public init() {}
    }

    public var qos = QualityOfService.default
    /// Relative to the captured directory.
    public var directory: String?
    public var umask: Int32?
    public var stdin: String?
    public var output = Output.log
    public var user: String?
    public var limits = ResourceLimits()
    public var observers = Observers()
    public var conditions: [Condition] = []
    /// Laid over the captured environment.
    public var environment = StringMap()

    public init() {}

    /// Reads what `text` wrote.
    public init(json: some Collection<UInt8>) throws(JSONError) {
        var details = OperationDetails()
        try scan(json) { scanner throws(JSONError) in
            try scanner.beginObject()
            while let text = try scanner.nextMember() {
                guard let key = OperationKey.find(scanner.slice(text.start..<text.end)),
                    try details.read(key, from: &scanner)
                else { throw scanner.error(.refused("unknown key"), at: text.start - 1).inside(scanner.string(text)) }
            }
            try scanner.end()
        }
        self = details
    }

    /// Reads the value of `key`; false if the key is none of these.
    mutating func read(_ key: OperationKey, from scanner: inout JSONScanner) throws(JSONError) -> Bool {
        switch key {
        case .qos: qos = try scanner.choice()
        case .directory: directory = try scanner.path()
        case .umask: umask = try scanner.umask()
        case .stdin: stdin = try scanner.path()
        case .output: output = try Output(from: &scanner)
        case .user: user = try scanner.plainString(atMost: 256)
        case .limits: limits = try ResourceLimits(from: &scanner)
        case .observers: observers = try Observers(from: &scanner)
        case .environment: environment = try scanner.environment()
        case .conditions:
            conditions = []
            try scanner.elements(atMost: Limits.conditionsPerOperation) { (scanner) throws(JSONError) in
                conditions.append(try Condition(from: &scanner))
            }
        default: return false
        }
        return true
    }
}

extension JSONScanner {
    /// Octal text, as umask(1) takes it; as a JSON number it would be read as decimal by mistake.
    mutating func umask() throws(JSONError) -> Int32 {
        guard try peek() == .string else { throw error(.expected("octal text such as \"022\"")) }
        let start = position
        let text = try string()
        guard 1...4 ~= text.utf8.count, let value = Int32(text, radix: 8), 0...0o777 ~= value, text.utf8.first != 0x2b
        else {
            throw error(.refused("not octal text such as \"022\""), at: start)
        }
        return value
    }

    mutating func environment() throws(JSONError) -> StringMap {
        var bytes = 0
        return try stringMap(atMost: Limits.environmentVariables) { name, value in
            bytes += name.utf8.count + value.utf8.count + 2
            if let complaint = NameSyntax.complaint(aboutVariable: name, value: value) { return complaint }
            return bytes > Limits.environmentBytes ? "more than \(Limits.environmentBytes) bytes in all" : nil
        }
    }

    mutating func labels() throws(JSONError) -> StringMap {
        try stringMap(atMost: Limits.labels) { name, value in
            if name.isEmpty || name.utf8.contains(UInt8(ascii: "=")) { return "no name of a label" }
            if name.utf8.contains(0) || value.utf8.contains(0) { return "must not contain a NUL" }
            let isLong = name.utf8.count + value.utf8.count > Limits.labelBytes
            return isLong ? "longer than \(Limits.labelBytes) bytes" : nil
        }
    }
}

extension OperationDetails.Output {
    init(from scanner: inout JSONScanner) throws(JSONError) {
        let kind = try scanner.peek()
        let start = scanner.position
        if kind == .object {
            var stdout: String?
            var stderr: String?
            try scanner.members(of: ["stdout", "stderr"]) { (key, scanner) throws(JSONError) in
                let path = try scanner.path()
                if key == "stdout" { stdout = path } else { stderr = path }
            }
            guard stdout != nil || stderr != nil else { throw scanner.error(.refused("names no file"), at: start) }
            self = .files(stdout: stdout, stderr: stderr)
            return
        }
        guard kind == .string else { throw scanner.error(.expected("a name or an object with stdout and stderr")) }
        switch try scanner.string() {
        case "log": self = .log
        case "split": self = .split
        case "journal": self = .journal
        case "null": self = .null
        case let other:
            let near = Nearest.suggestion(for: other, among: ["log", "split", "journal", "null"])
            throw scanner.error(.refused("\"\(other)\" is none of log, split, journal, null\(near)"), at: start)
        }
    }
}

extension OperationDetails.ResourceLimits {
    private static let keys = [
        "nice", "memory", "tasks", "cpuWeight", "cpuQuota", "openFiles", "fileSize", "coreSize",
    ]

    init(from scanner: inout JSONScanner) throws(JSONError) {
        try scanner.members(of: Self.keys) { (key, scanner) throws(JSONError) in
            switch key {
            case "nice": nice = Int32(try scanner.integer(in: -20...19))
            case "memory": memory = try scanner.size(atLeast: 1)
            case "tasks": tasks = try scanner.integer(in: 1...Int64(Int32.max))
            case "cpuWeight": cpuWeight = try scanner.integer(in: 1...10_000)
            case "cpuQuota": cpuQuota = try scanner.percent()
            case "openFiles": openFiles = try scanner.integer(in: 1...Int64(Int32.max))
            case "fileSize": fileSize = try scanner.size()
            default: coreSize = try scanner.size()
            }
        }
    }
}

extension JSONScanner {
    /// `"150%"`: one and a half CPUs.
    fileprivate mutating func percent() throws(JSONError) -> Int64 {
        guard try peek() == .string else { throw error(.expected("text such as \"150%\"")) }
        let start = position
        let text = try string()
        guard text.hasSuffix("%"), let value = Int64(text.dropLast()), 1...1_000_000 ~= value else {
            throw error(.refused("not a share of one CPU such as \"150%\""), at: start)
        }
        return value
    }
}

extension OperationDetails.Observers {
    init(from scanner: inout JSONScanner) throws(JSONError) {
        try scanner.members(of: ["start", "produce", "finish", "failed"]) { (key, scanner) throws(JSONError) in
            let argv = try scanner.argv()
            switch key {
            case "start": start = argv
            case "produce": produce = argv
            case "failed": failed = argv
            default: finish = argv
            }
        }
    }

    /// The observers that are given.
    var present: OpsModel.Observers {
        var present: OpsModel.Observers = []
        if start != nil { present.insert(.start) }
        if produce != nil { present.insert(.produce) }
        if finish != nil { present.insert(.finish) }
        if failed != nil { present.insert(.failed) }
        return present
    }
}

/// Settings of an operation's process: all keys except those of scheduling and the command.
///
/// The stored JSON has the same form as in a graph file, so that one reader is enough.
public struct OperationDetails: Equatable, Sendable {
    public enum QualityOfService: String, Sendable, CaseIterable {
        case userInteractive, userInitiated, `default`, utility, background
    }

    public enum Output: Equatable, Sendable {
        case log, split, journal, null
        /// Paths of the outputs. If one is absent, both outputs go to the file of the other.
        case files(stdout: String?, stderr: String?)
    }

    public struct ResourceLimits: Equatable, Sendable {
        public var nice: Int32?
        public var memory: Int64?
        public var tasks: Int64?
        /// Weight from 1 to 10000; the default is 100.
        public var cpuWeight: Int64?
        /// Percent of one CPU.
        public var cpuQuota: Int64?
        public var openFiles: Int64?
        public var fileSize: Int64?
        public var coreSize: Int64?
        public init() {}

        /// Returns a limit that can grow with each attempt.
        public func value(of key: RetryScale.Key) -> Int64? {
            switch key {
            case .timeout: nil
            case .memory: memory
            case .tasks: tasks
            case .cpuWeight: cpuWeight
            case .cpuQuota: cpuQuota
            case .openFiles: openFiles
            case .fileSize: fileSize
            case .coreSize: coreSize
            }
        }
    }

    public struct Observers: Equatable, Sendable {
        public var start: [String]?
        public var produce: [String]?
        public var finish: [String]?
        public var failed: [String]?
        public init() {}
    }

    public var qos = QualityOfService.default
    /// Working directory, relative to the captured one.
    public var directory: String?
    public var umask: Int32?
    public var stdin: String?
    public var output = Output.log
    public var user: String?
    public var limits = ResourceLimits()
    public var observers = Observers()
    public var conditions: [Condition] = []
    /// Variables that override the captured environment.
    public var environment = StringMap()
    public var secrets: [Secret] = []
    public var slurm: SlurmOptions?
    public var http: HTTPOptions?

    public init() {}

    /// Reads the stored form.
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

    /// Reads the value of `key`; returns false if it is not one of these keys. A submission reads `http` itself: it has
    /// more checks.
    mutating func read(_ key: OperationKey, from scanner: inout JSONScanner) throws(JSONError) -> Bool {
        switch key {
        case .qos: qos = try scanner.choice()
        case .directory: directory = try scanner.path()
        case .umask: umask = try scanner.umask()
        case .stdin: stdin = try scanner.path()
        case .output: output = try Output(from: &scanner)
        case .user: user = try scanner.plainString(atMost: Limits.userBytes)
        case .limits: limits = try ResourceLimits(from: &scanner)
        case .observers: observers = try Observers(from: &scanner)
        case .environment: environment = try scanner.environment()
        case .secrets: secrets = try Secret.list(from: &scanner)
        case .slurm: slurm = try SlurmOptions(from: &scanner)
        case .http: http = try HTTPOptions(from: &scanner, isStored: true)
        case .conditions:
            conditions = []
            try scanner.elements(atMost: Limits.conditionsPerOperation) { (scanner) throws(JSONError) in
                conditions.append(try Condition(from: &scanner))
            }
        default: return false
        }
        return true
    }

    /// Writes the stored form: only values that differ from their defaults, in a fixed order, so that equal details are
    /// equal texts.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if qos != .default { writer.member("qos", qos.rawValue) }
        if let directory { writer.member("directory", directory) }
        if let umask { writer.member("umask", "0" + String(umask, radix: 8)) }
        if let stdin { writer.member("stdin", stdin) }
        output.write(to: &writer)
        if let user { writer.member("user", user) }
        if limits != ResourceLimits() { limits.write(to: &writer) }
        if observers != Observers() { observers.write(to: &writer) }
        if !conditions.isEmpty {
            writer.key("conditions")
            writer.beginArray()
            for condition in conditions { condition.write(to: &writer) }
            writer.endArray()
        }
        if !environment.entries.isEmpty {
            writer.key("environment")
            environment.write(to: &writer)
        }
        if !secrets.isEmpty { Secret.write(secrets, to: &writer) }
        if let slurm {
            writer.key("slurm")
            slurm.write(to: &writer)
        }
        if let http {
            writer.key("http")
            http.write(to: &writer)
        }
        writer.endObject()
    }
}

extension OperationDetails {
    /// Options for an executor as JSON text; empty if there are none.
    public var executorOptions: String {
        var writer = JSONWriter()
        if let slurm { slurm.write(to: &writer) } else if let http { http.write(to: &writer) }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONScanner {
    /// Reads octal text, as for umask(1). A JSON number would be read as decimal by mistake.
    mutating func umask() throws(JSONError) -> Int32 {
        guard try peek() == .string else { throw error(.expected("octal text such as \"022\"")) }
        let start = position
        let text = try string()
        guard 1...4 ~= text.utf8.count, let value = Int32(digits: text, radix: 8), value <= 0o777 else {
            throw error(.refused("not octal text such as \"022\""), at: start)
        }
        return value
    }

    mutating func environment() throws(JSONError) -> StringMap {
        var bytes = 0
        return try stringMap(atMost: Limits.environmentVariables) { name, value in
            let before = bytes
            bytes += name.utf8.count + value.utf8.count + 2
            if let complaint = NameSyntax.complaint(aboutVariable: name, value: value) { return complaint }
            // Only the first variable that is too much is reported.
            let isTooMuch = before <= Limits.environmentBytes && bytes > Limits.environmentBytes
            return isTooMuch ? "more than \(Limits.environmentBytes) bytes in all" : nil
        }
    }

    mutating func labels() throws(JSONError) -> StringMap {
        try stringMap(atMost: Limits.labels) { name, value in
            if name.isEmpty || name.utf8.contains(UInt8(ascii: "=")) { return "not the name of a label" }
            if name.utf8.contains(0) || value.utf8.contains(0) { return "must not contain a NUL" }
            let isLong = name.utf8.count + value.utf8.count > Limits.labelBytes
            return isLong ? "longer than \(Limits.labelBytes) bytes" : nil
        }
    }
}

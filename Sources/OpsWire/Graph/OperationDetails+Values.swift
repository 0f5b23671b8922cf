// Readers and writers of details that are objects.

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

    func write(to writer: inout JSONWriter) {
        switch self {
        case .log: break
        case .split: writer.member("output", "split")
        case .journal: writer.member("output", "journal")
        case .null: writer.member("output", "null")
        case .files(let stdout, let stderr):
            writer.key("output")
            writer.beginObject()
            if let stdout { writer.member("stdout", stdout) }
            if let stderr { writer.member("stderr", stderr) }
            writer.endObject()
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
            case "nice": nice = Int32(try scanner.integer(in: Limits.nice))
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

    func write(to writer: inout JSONWriter) {
        writer.key("limits")
        writer.beginObject()
        if let nice { writer.member("nice", Int64(nice)) }
        if let memory { writer.member("memory", memory) }
        if let tasks { writer.member("tasks", tasks) }
        if let cpuWeight { writer.member("cpuWeight", cpuWeight) }
        if let cpuQuota { writer.member("cpuQuota", "\(cpuQuota)%") }
        if let openFiles { writer.member("openFiles", openFiles) }
        if let fileSize { writer.member("fileSize", fileSize) }
        if let coreSize { writer.member("coreSize", coreSize) }
        writer.endObject()
    }
}

extension JSONScanner {
    /// Reads a percentage: `"150%"` is one and a half CPUs.
    fileprivate mutating func percent() throws(JSONError) -> Int64 {
        guard try peek() == .string else { throw error(.expected("text such as \"150%\"")) }
        let start = position
        let text = try string()
        guard text.hasSuffix("%"), let value = Int64(digits: text.dropLast()), 1...1_000_000 ~= value else {
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

    /// The observers that are set.
    var present: OpsModel.Observers {
        var present: OpsModel.Observers = []
        if start != nil { present.insert(.start) }
        if produce != nil { present.insert(.produce) }
        if finish != nil { present.insert(.finish) }
        if failed != nil { present.insert(.failed) }
        return present
    }

    func write(to writer: inout JSONWriter) {
        writer.key("observers")
        writer.beginObject()
        if let start { writer.member("start", start) }
        if let produce { writer.member("produce", produce) }
        if let finish { writer.member("finish", finish) }
        if let failed { writer.member("failed", failed) }
        writer.endObject()
    }
}

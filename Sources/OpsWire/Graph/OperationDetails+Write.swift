/// The stored form: only what differs from nothing, in one order, so that equal details are equal texts.
extension OperationDetails {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if qos != .default { writer.member("qos", qos.rawValue) }
        if let directory { writer.member("directory", directory) }
        if let umask { writer.member("umask", "0" + String(umask, radix: 8)) }
        if let stdin { writer.member("stdin", stdin) }
        write(output: output, to: &writer)
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
        writer.endObject()
    }

    private func write(output: Output, to writer: inout JSONWriter) {
        switch output {
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
    fileprivate func write(to writer: inout JSONWriter) {
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

extension OperationDetails.Observers {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.key("observers")
        writer.beginObject()
        if let start { writer.member("start", start) }
        if let produce { writer.member("produce", produce) }
        if let finish { writer.member("finish", finish) }
        if let failed { writer.member("failed", failed) }
        writer.endObject()
    }
}

extension Condition {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        test.write(to: &writer)
        let usual = ConditionPolicy()
        if policy.otherwise != usual.otherwise { writer.member("otherwise", policy.otherwise.rawValue) }
        if policy.every != usual.every { writer.member("every", DurationText.format(policy.every)) }
        writer.endObject()
    }
}

extension Condition.Test {
    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .pathExists(let path): writer.member("pathExists", path)
        case .reachable(let host, let port):
            writer.member("reachable", host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
        case .exec(let argv, let timeout):
            writer.member("exec", argv)
            if timeout != Condition.defaultTimeout { writer.member("timeout", DurationText.format(timeout)) }
        case .freeSpace(let path, let least):
            writer.key("freeSpace")
            writer.beginObject()
            writer.member("path", path)
            writer.member("atLeast", least)
            writer.endObject()
        case .loadBelow(let load):
            writer.key("loadBelow")
            writer.double(load)
        case .memoryAvailable(let bytes): writer.member("memoryAvailable", bytes)
        case .window(let from, let to): writer.member("window", "\(Self.clock(from))-\(Self.clock(to))")
        case .dependenciesSucceeded:
            writer.key("dependenciesSucceeded")
            writer.bool(true)
        case .not(let test):
            writer.key("not")
            writer.beginObject()
            test.write(to: &writer)
            writer.endObject()
        }
    }

    private static func clock(_ minutes: Int) -> String {
        func twoDigits(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(twoDigits(minutes / 60)):\(twoDigits(minutes % 60))"
    }
}

extension JSONWriter {
    mutating func member(_ key: StaticString, _ value: String) {
        self.key(key)
        string(value)
    }

    mutating func member(_ key: StaticString, _ value: Int64) {
        self.key(key)
        integer(value)
    }

    mutating func member(_ key: StaticString, _ value: [String]) {
        self.key(key)
        value.write(to: &self)
    }
}

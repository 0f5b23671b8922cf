// Writes conditions in their stored form.

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
            writer.member("atLeast", SizeText.format(least))
            writer.endObject()
        case .loadBelow(let load):
            writer.key("loadBelow")
            writer.double(load)
        case .memoryAvailable(let bytes): writer.member("memoryAvailable", SizeText.format(bytes))
        case .window(let from, let to): writer.member("window", "\(Self.clock(from))-\(Self.clock(to))")
        case .dependenciesSucceeded:
            writer.key("dependenciesSucceeded")
            writer.bool(true)
        case .newer(let inputs, let outputs):
            writer.key("newer")
            writer.beginObject()
            writer.member("inputs", inputs)
            writer.member("outputs", outputs)
            writer.endObject()
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

/// A condition that must be true before an operation starts.
public struct Condition: Equatable, Sendable {
    public indirect enum Test: Equatable, Sendable {
        case pathExists(String)
        case reachable(host: String, port: UInt16)
        case exec([String], timeout: TimeSpan)
        case freeSpace(path: String, atLeast: Int64)
        case loadBelow(Double)
        case memoryAvailable(Int64)
        /// Minutes of the local day, the second one excluded. The window crosses midnight if the second is smaller.
        case window(from: Int, to: Int)
        case dependenciesSucceeded
        /// True if an output is missing or older than an input. Both are patterns of file names.
        case newer(inputs: [String], outputs: [String])
        case not(Test)
    }
    public var test: Test
    /// Handling of the answer by the scheduler.
    var policy = ConditionPolicy()

    static let testKeys = [
        "pathExists", "reachable", "exec", "freeSpace", "loadBelow", "memoryAvailable", "window",
        "dependenciesSucceeded", "newer", "not",
    ]
    private static let keys = testKeys + ["timeout", "otherwise", "every"]
    static let defaultTimeout = TimeSpan.seconds(10)

    /// Reads the stored form, which has neither `provide` nor `silent`.
    init(from scanner: inout JSONScanner) throws(JSONError) {
        var provide: JSONScanner.State?
        try self.init(from: &scanner, provide: &provide)
        if provide != nil { throw scanner.error(.refused("not possible here")).inside("provide") }
    }

    /// Reads a condition of a graph file. `provide` becomes the position of the operation to add, even if the condition
    /// is wrong, but not if it is silent.
    init(from scanner: inout JSONScanner, provide: inout JSONScanner.State?) throws(JSONError) {
        _ = try scanner.peek()
        let start = scanner.position
        var reader = TestReader()
        var policy = ConditionPolicy()
        var isSilent = false
        defer { if isSilent { provide = nil } }
        try scanner.members(of: Self.keys + ["provide", "silent"], alternatives: Self.testKeys) {
            (key, scanner) throws(JSONError) in
            switch key {
            case "otherwise": policy.otherwise = try scanner.choice()
            case "every": policy.every = try scanner.duration(atLeast: .nanoseconds(1))
            case "silent": isSilent = try scanner.bool()
            case "provide":
                guard try scanner.peek() == .object else { throw scanner.error(.expected("an operation")) }
                provide = scanner.state
                try scanner.skip()
            default: try reader.read(key, &scanner)
            }
        }
        test = try reader.finish(scanner, at: start)
        self.policy = policy
    }
}

/// Collects the test of a condition and the keys that belong to it.
private struct TestReader {
    private var test: Condition.Test?
    private var hasTest = false
    private var timeout: TimeSpan?

    mutating func read(_ key: String, _ scanner: inout JSONScanner) throws(JSONError) {
        if key == "timeout" {
            timeout = try scanner.duration(atLeast: .nanoseconds(1))
            return
        }
        // A test with a wrong value is one, too.
        if hasTest { throw scanner.error(.refused("a condition can have only one test")) }
        hasTest = true
        test = try Self.test(key, &scanner)
    }

    private static func test(_ key: String, _ scanner: inout JSONScanner) throws(JSONError) -> Condition.Test {
        switch key {
        case "pathExists": return .pathExists(try scanner.path())
        case "reachable": return try reachable(&scanner)
        case "exec": return .exec(try scanner.argv(), timeout: Condition.defaultTimeout)
        case "freeSpace": return try freeSpace(&scanner)
        case "loadBelow":
            let start = scanner.position
            let load = try scanner.double()
            guard load > 0 else { throw scanner.error(.refused("must be more than 0"), at: start) }
            return .loadBelow(load)
        case "memoryAvailable": return .memoryAvailable(try scanner.size())
        case "window": return try window(&scanner)
        case "dependenciesSucceeded":
            guard try scanner.bool() else {
                throw scanner.error(.refused("can only be true; use \"not\" for the opposite"))
            }
            return .dependenciesSucceeded
        case "newer": return try newer(&scanner)
        default:
            _ = try scanner.peek()
            let start = scanner.position
            var inner = TestReader()
            try scanner.members(of: Condition.testKeys + ["timeout"], alternatives: Condition.testKeys) {
                (key, scanner) throws(JSONError) in
                try inner.read(key, &scanner)
            }
            return .not(try inner.finish(scanner, at: start))
        }
    }

    func finish(_ scanner: JSONScanner, at start: Int) throws(JSONError) -> Condition.Test {
        guard let test else { preconditionFailure("a condition without a test is refused when it is read") }
        guard let timeout else { return test }
        guard case .exec(let argv, _) = test else {
            throw scanner.error(.refused("belongs to \"exec\""), at: start).inside("timeout")
        }
        return .exec(argv, timeout: timeout)
    }

    private static func reachable(_ scanner: inout JSONScanner) throws(JSONError) -> Condition.Test {
        _ = try scanner.peek()
        let start = scanner.position
        let text = try scanner.plainString(atMost: 300)
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(digits: text[colon...].dropFirst()), port > 0
        else {
            throw scanner.error(.refused("not \"host:port\""), at: start)
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw scanner.error(.refused("write an IPv6 address in brackets: \"[::1]:80\""), at: start)
        }
        guard !host.isEmpty else { throw scanner.error(.refused("not \"host:port\""), at: start) }
        return .reachable(host: String(host), port: port)
    }

    private static func freeSpace(_ scanner: inout JSONScanner) throws(JSONError) -> Condition.Test {
        var path = ""
        var least: Int64 = 0
        let keys = ["path", "atLeast"]
        try scanner.members(of: keys, required: keys) { (key, scanner) throws(JSONError) in
            if key == "path" { path = try scanner.path() } else { least = try scanner.size() }
        }
        return .freeSpace(path: path, atLeast: least)
    }

    private static func newer(_ scanner: inout JSONScanner) throws(JSONError) -> Condition.Test {
        var inputs: [String] = []
        var outputs: [String] = []
        let keys = ["inputs", "outputs"]
        try scanner.members(of: keys, required: keys) { (key, scanner) throws(JSONError) in
            scanner.skipSpace()
            let start = scanner.position
            var patterns: [String] = []
            try scanner.elements(atMost: Limits.patterns) { (scanner) throws(JSONError) in
                patterns.append(try scanner.plainString(atMost: Limits.pathBytes))
            }
            if key == "inputs" {
                inputs = patterns
            } else if patterns.isEmpty {
                throw scanner.error(.refused("must not be empty"), at: start)
            } else {
                outputs = patterns
            }
        }
        return .newer(inputs: inputs, outputs: outputs)
    }

    private static func window(_ scanner: inout JSONScanner) throws(JSONError) -> Condition.Test {
        _ = try scanner.peek()
        let start = scanner.position
        let text = try scanner.string()
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let from = minutes(ends[0]), let to = minutes(ends[1]) else {
            throw scanner.error(.refused("not \"22:00-06:00\""), at: start)
        }
        // A window that begins at 24:00 begins at 0:00.
        guard from != to, from % (24 * 60) != to else {
            throw scanner.error(.refused("the window is empty: it begins and ends at the same time"), at: start)
        }
        return .window(from: from, to: to)
    }

    private static func minutes(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ 1...2 ~= $0.utf8.count }),
            let hour = Int(digits: parts[0]), let minute = Int(digits: parts[1]), minute < 60,
            hour < 24 || (hour == 24 && minute == 0)
        else { return nil }
        return hour * 60 + minute
    }
}

/// Commands that run when a graph has finished, and at its first failure.
public struct GraphObserverCommands: Equatable, Sendable {
    public var finish: [String]?
    public var failure: [String]?

    public static let keys = ["finish", "failure"]

    public init(json: some Collection<UInt8>) throws(JSONError) {
        let read: (finish: [String]?, failure: [String]?)
        do throws(JSONError) { read = try Self.read(json) } catch { throw error.inside("observers") }
        (finish, failure) = read
    }

    private static func read(
        _ json: some Collection<UInt8>
    ) throws(JSONError) -> (finish: [String]?, failure: [String]?) {
        var read = (finish: [String]?.none, failure: [String]?.none)
        try scan(json) { scanner throws(JSONError) in
            // Errors name the keys; to count the lines for each of many errors would take long.
            scanner.countsLines = false
            guard try scanner.peek() == .object else { throw scanner.error(.expected("an object")) }
            try scanner.members(of: Self.keys) { (key, scanner) throws(JSONError) in
                if try scanner.skipNull() { return }
                let argv = try scanner.argv()
                if key == "finish" { read.finish = argv } else { read.failure = argv }
            }
            try scanner.end()
        }
        return read
    }

    /// Returns a command as JSON text.
    public static func text(_ command: [String]?) -> String? {
        command.map { command in
            var writer = JSONWriter()
            command.write(to: &writer)
            return writer.text
        }
    }
}

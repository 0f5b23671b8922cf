internal import OpsWire

/// Operations on their way to the daemon.
struct Submission {
    /// Their JSON text.
    private enum Content {
        case one([UInt8])
        case many([UInt8], places: [Range<Int>])
    }

    var name: String?
    /// The text of an object with keys that all operations share.
    var defaults: [UInt8]?
    private let content: Content

    /// What the daemon made of it.
    struct Accepted {
        private let reply: JSONView

        init(_ reply: JSONView) {
            self.reply = reply
        }

        var graph: String { reply["graph"]?.text ?? "" }
        var existing: Bool { reply["existing"]?.flag ?? false }
        var first: Int { reply["first"]?.integer ?? 0 }
        var count: Int { reply["count"]?.integer ?? 0 }
        /// One object for each operation, where they were asked for.
        var operations: [JSONView] { reply["operations"]?.elements ?? [] }
    }

    init(name: String? = nil, defaults: [UInt8]? = nil, text: [UInt8], operations: [Range<Int>]) {
        self.name = name
        self.defaults = defaults
        content = .many(text, places: operations)
    }

    /// One operation.
    init(_ operation: [UInt8]) {
        content = .one(operation)
    }

    /// Larger submissions go in parts: opsd takes messages of 64 MiB, but holds each in memory while it reads it.
    private static let messageLimit = 4 << 20
    private static let partSize = 4 << 20

    func send(_ session: Session, list: Bool) throws(Failure) -> Accepted {
        do throws(Failure) {
            return try transmit(session, list: list)
        } catch {
            throw session.named(error)
        }
    }

    private func transmit(_ session: Session, list: Bool) throws(Failure) -> Accepted {
        let daemon = try session.daemon()
        if case .many(let text, let places) = content, text.count > Self.messageLimit {
            return try transmitInParts(text, places, session, list: list)
        }
        let reply = try daemon.call("Submit") {
            writeHead(to: &$0, session, list: list)
            $0.key("operations")
            $0.array { array in
                switch content {
                case .one(let text): array.raw(text)
                case .many(let text, let places): for place in places { array.raw(text[place]) }
                }
            }
        }
        return Accepted(reply)
    }

    private func transmitInParts(
        _ text: [UInt8], _ operations: [Range<Int>], _ session: Session, list: Bool
    ) throws(Failure) -> Accepted {
        let daemon = try session.daemon()
        _ = try daemon.call("BeginSubmission") { writeHead(to: &$0, session, list: list) }
        var next = 0
        while next < operations.count {
            let start = operations[next].lowerBound
            var end = next
            repeat { end += 1 } while end < operations.count && operations[end].upperBound - start < Self.partSize
            let part = operations[next..<end]
            _ = try daemon.call("AddOperations") {
                $0.key("operations")
                $0.array { array in
                    for operation in part { array.raw(text[operation]) }
                }
            }
            next = end
        }
        return Accepted(try daemon.call("CommitSubmission"))
    }

    private func writeHead(to text: inout JSONWriter, _ session: Session, list: Bool) {
        let arguments = session.arguments
        text.member("name", arguments.text(.graphName) ?? name)
        if let defaults { text.member("defaults", raw: defaults) }
        Capture.write(to: &text, isClean: arguments.has(.cleanEnv))
        text.member("inside", SocketPath.enclosingOperation(asking: session.socketPath))
        text.member("child", arguments.has(.child))
        text.member("key", arguments.text(.key))
        text.member("unlessActive", arguments.text(.unlessActive))
        text.member("dryRun", arguments.has(.dryRun))
        text.member("list", list)
    }
}

internal import OpsWire

/// `set`: changes waiting operations.
enum SetVerb {
    static let verb = Verb(
        "set", .steering, "change waiting operations",
        forms: ["OPERATION... [--priority P] [--queue Q] [--timeout D] ..."],
        about: ["Options not given are unchanged; \"none\" removes a limit."],
        operands: .some(.operation, "OPERATION"),
        options: [.editing],
        examples: [
            .init("Move it to the front", "opsctl set deploy --priority veryHigh"),
            .init("More time for a range of them", "opsctl set 10-20 --timeout 1h"),
            .init("Correct the command of one that waits", "opsctl set 12 --command make -j2 all"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let changes = try changes(session)
        let selection = Selection(refs: session.arguments.operands)
        let reply = try session.call(SetRequest(selection, changes))
        try Steering.report(reply, reply.touched, "changed", selection, session)
        return .done
    }

    private static func changes(_ session: Session) throws(Failure) -> [JSONValue.Member] {
        var text = JSONWriter()
        text.beginObject()
        try OperationKeys(arguments: session.arguments).writeEdits(to: &text)
        text.endObject()
        guard text.bytes.count > 2 else { throw session.refuse("there is nothing to set", "see opsctl help set") }
        do throws(InvalidParameter) {
            return try scan(text.bytes) { (scanner) throws(InvalidParameter) in try JSONObject(from: &scanner) }.members
        } catch {
            throw session.refuse("\(error.parameter): \(error.reason)", nil)
        }
    }
}

extension SetRequest {
    init(_ selection: Selection, _ changes: [JSONValue.Member]) {
        self.init()
        self.selection = selection
        self.changes = JSONObject(changes)
    }
}

internal import OpsWire

/// `set`: edits what waits.
enum SetVerb {
    private static let timeout = Option.value("timeout", "t", "D|none", .text, "time limit per attempt")
    private static let deadline = Option.value("deadline", "TIME|none", .text, "must finish by TIME, else it times out")
    private static let notBefore = Option.value("not-before", "TIME|none", .text, "a duration from now, or an instant")
        .known(as: "at")

    private static let categories = Option.value(
        "category", "c", "NAME[:HOW]|none", .category, "its categories, all of them")
    private static let children = Option.value(
        "limit", "N", .integer, "of a group: how many of its children may execute at once")

    static let verb = Verb(
        "set", .steering, "change waiting operations",
        forms: ["OPERATION... [--priority P] [--queue Q] [--timeout D] ..."],
        about: ["Options not given are unchanged; none removes a limit."],
        operands: .some(.operation, "OPERATION"),
        options: [
            OptionGroup(
                "Setting",
                [
                    .priority, .toQueue, categories, timeout, .grace, deadline, notBefore, .successCodes, .leftovers,
                    children, .retry, .retryBackoff, .retryFactor, .retryMax, .retryJitter, .retryOn, .retryExitCodes,
                ])
        ],
        examples: [
            .init("Move it to the front", "opsctl set deploy --priority veryHigh"),
            .init("More time for a range of them", "opsctl set 10-20 --timeout 1h"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let changes = try changes(session)
        let selection = Selection(refs: session.arguments.operands)
        let reply = try session.call(SetRequest(selection, changes))
        try Steering.report(reply, reply.touched, "edited", selection, session)
        return .done
    }

    private static func changes(_ session: Session) throws(Failure) -> [JSONValue.Member] {
        let arguments = session.arguments
        var text = JSONWriter()
        text.beginObject()
        if let value = arguments.text(.priority) {
            text.key("priority")
            try OperationKeys.writePriority(value, to: &text, arguments.path)
        }
        text.member("queue", arguments.text(.toQueue))
        text.member("grace", arguments.text(.grace))
        let times: [(option: Option, key: String, kind: ValueKind)] = [
            (timeout, "timeout", .duration), (deadline, "deadline", .time), (notBefore, "notBefore", .time),
        ]
        for (option, key, kind) in times {
            guard let value = arguments.text(option) else { continue }
            text.key(key)
            if value == "none" {
                text.null()
            } else if let complaint = kind.complaint(about: value) {
                throw session.refuse("--\(option.name) takes \(complaint), or none, not \"\(value)\"", nil)
            } else {
                text.string(Span.parse(value) == nil ? Instant.parse(value, now: .now)?.rfc3339 ?? value : value)
            }
        }
        let keys = OperationKeys(arguments: arguments)
        try keys.writeRetry(to: &text)
        if let codes = try keys.codes(.successCodes) { text.member("successCodes", raw: codes) }
        text.member("leftovers", arguments.text(.leftovers))
        if let names = arguments.has(categories) ? OperationKeys.list(arguments.texts(categories)) : nil {
            OperationKeys.writeCategories(names == ["none"] ? [] : names, to: &text)
        }
        text.member("limit", arguments.integer(children))
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

internal import OpsWire

/// `set`: edits what waits.
enum SetVerb {
    private static let timeout = Option.value("timeout", "t", "D|none", .text, "bound on one attempt")
    private static let deadline = Option.value("deadline", "TIME|none", .text, "finished by then, or timed out")
    private static let notBefore = Option.value("not-before", "TIME|none", .text, "a duration from now, or an instant")

    static let verb = Verb(
        "set", .steering, "edit operations that wait",
        forms: ["OPERATION... [--priority P] [--queue Q] [--timeout D] ..."],
        about: ["What executes keeps its command and queue; its priority, timeout and deadline may still change."],
        operands: .some(.operation, "OPERATION"),
        options: [
            OptionGroup(
                "Setting",
                [
                    .priority, .toQueue, timeout, .grace, deadline, notBefore, .labels, .retry, .retryBackoff,
                    .retryFactor, .retryMax, .retryJitter, .retryOn, .retryExitCodes,
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
        let reply = try session.call("Set") {
            selection.member(of: &$0)
            $0.member("changes", raw: changes)
        }
        try Steering.report(reply, "edited", selection, session)
        return .done
    }

    private static func changes(_ session: Session) throws(Failure) -> [UInt8] {
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
        let labels = arguments.pairs(.labels)
        if !labels.isEmpty { text.member("labels", labels) }
        try OperationKeys(arguments: arguments).writeRetry(to: &text)
        text.endObject()
        guard text.bytes.count > 2 else { throw session.refuse("there is nothing to set", "see opsctl help set") }
        return text.bytes
    }
}

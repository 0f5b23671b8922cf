internal import OpsDrawing
internal import OpsWire

/// `why`: explains why an operation waits.
enum WhyVerb {
    static let whatIf = Option.value(
        "what-if", "CHANGE", .text,
        "answer as if this had been done: cancel ID, finish ID, fail ID, resume [ID], suspend [ID], workers N, "
            + "limit QUEUE N, capacity CATEGORY N or priority ID N")

    static let verb = Verb(
        "why", .looking, "explain why an operation waits",
        forms: ["OPERATION... [--what-if CHANGE]"],
        about: [
            "Lists everything that keeps it from starting: unmet dependencies, holders of categories, the position in line.",
            "For a finished operation, it prints when, how and why it ended. 7-9 are the operations 7, 8 and 9.",
        ],
        operands: .some(.operation, "OPERATION"), options: [OptionGroup("Asking", [whatIf])],
        examples: [
            .init("Why does it not start?", "opsctl why deploy"),
            .init("Several operations", "opsctl why 7-9 12"),
            .init("Would it, if 7 were cancelled?", "opsctl why deploy --what-if \"cancel 7\""),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let change = session.arguments.text(whatIf)
        var explained: Set<Int64> = []
        for ref in try Selection.references(session) {
            let reply = try session.call(WhyRequest.with { ($0.ref, $0.whatIf) = (ref, change) })
            guard explained.insert(reply.id).inserted else { continue }
            if session.wantsJSON {
                try session.row(reply)
                continue
            }
            let shown = try session.call(ShowRequest.with { $0.ref = "\(reply.id)" })
            let sentence = " " + sentence(reply, shown)
            let room = session.screen.columns.map { $0 - DisplayWidth.of("\(reply.id) ()" + sentence) } ?? .max
            let name = shown.operation.name.map { " (\(DisplayWidth.fit($0.printable, max(8, room))))" } ?? ""
            try session.output.line(session.style(.bold, "\(reply.id)") + name + sentence)
            for reason in reply.waitingFor {
                // An executing operation waits only for its own end, which the protocol reports as a dependency.
                let isExecuting = reply.state == .executing && reason.kind == .dependency
                let kind = DisplayWidth.pad(isExecuting ? "executing" : reason.kind.rawValue, 10)
                try session.output.line("  \(session.style(.yellow, kind))  \(local(reason.text).printable)")
            }
        }
        return .done
    }

    /// Returns the state of an operation as a sentence.
    private static func sentence(_ reply: WhyReply, _ shown: ShowReply) -> String {
        let row = shown.operation
        guard reply.state != .finished else {
            return row.state == .finished ? end(of: row) : supposedEnd(reply.outcome)
        }
        let isBlocked = reply.waitingFor.contains { $0.kind == .suspended }
        guard reply.state == .executing, row.state == .executing, !isBlocked else {
            let isWaiting = reply.state != .executing || isBlocked
            let state = "is \(reply.state.rawValue)"
            return reply.waitingFor.isEmpty ? state + " and waits for nothing" : isWaiting ? state + ":" : state
        }
        let pid = shown.details.pid.map { ", pid \($0)" } ?? ""
        return "is executing\(pid)" + (row.startedAt.instant.map { ", for \((Instant.now - $0).text)" } ?? "")
    }

    /// Returns how an operation would end after the supposed change.
    private static func supposedEnd(_ outcome: OutcomeName?) -> String {
        switch outcome {
        case OutcomeName.succeeded?: "would succeed"
        case OutcomeName.failed?: "would fail"
        case OutcomeName.timedOut?: "would time out"
        case OutcomeName.cancelled?: "would be cancelled"
        case OutcomeName.skipped?: "would be skipped"
        case OutcomeName.interrupted?: "would be interrupted"
        default: "would be finished"
        }
    }

    /// Returns how and when a finished operation ended, and the cause.
    private static func end(of row: OperationRow) -> String {
        let word =
            switch row.outcome {
            case OutcomeName.timedOut?: "timed out"
            case OutcomeName.skipped?: row.notNeeded ? "was not needed" : "was skipped"
            case OutcomeName.cancelled?: "was cancelled"
            case OutcomeName.interrupted?: "was interrupted"
            default: row.standing.word
            }
        let time = row.finishedAt.instant.map { " at \($0.text(now: .now))" } ?? ""
        return word + time + (row.cause.map { ": " + $0.printable } ?? "")
    }

    /// Replaces the instants in a sentence by local times, and adds how far away they are.
    static func local(_ text: String) -> String {
        let now = Instant.now
        return text.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let bare = word.hasSuffix(";") || word.hasSuffix(",") ? word.dropLast() : word
            guard bare.hasSuffix("Z"), let instant = Instant.rfc3339(String(bare)) else { return String(word) }
            let distance = instant > now ? " (in \((instant - now).text))" : ""
            return instant.text(now: now) + distance + word.dropFirst(bare.count)
        }.joined(separator: " ")
    }
}

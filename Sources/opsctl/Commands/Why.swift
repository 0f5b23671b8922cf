internal import OpsDrawing
internal import OpsWire

/// `why`: what an operation waits for.
enum WhyVerb {
    static let whatIf = Option.value(
        "what-if", "CHANGE", .text,
        "answer as if this had been done: cancel ID, finish ID, fail ID, resume [ID], suspend [ID], workers N, "
            + "limit QUEUE N, capacity CATEGORY N or priority ID N")

    static let verb = Verb(
        "why", .looking, "explain why an operation waits",
        forms: ["OPERATION... [--what-if CHANGE]"],
        about: [
            "Lists everything that keeps it from starting: unmet dependencies, holders of categories, the position in line."
        ],
        operands: .some(.operation, "OPERATION"), options: [OptionGroup("Asking", [whatIf])],
        examples: [
            .init("Why does it not start?", "opsctl why deploy"),
            .init("Would it, if 7 were cancelled?", "opsctl why deploy --what-if \"cancel 7\""),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        for ref in session.arguments.operands {
            let change = session.arguments.text(whatIf)
            let reply = try session.call(WhyRequest.with { ($0.ref, $0.whatIf) = (ref, change) })
            if session.wantsJSON {
                try session.row(reply)
                continue
            }
            let reasons = reply.waitingFor
            let isWaiting = reply.state != .executing || reasons.contains { $0.kind == .suspended }
            let what = reasons.isEmpty ? "waits for nothing" : isWaiting ? "waits for" : "goes on"
            try session.output.line(session.style(.bold, "\(reply.id)") + " is \(reply.state.rawValue) and \(what)")
            for reason in reasons {
                let kind = DisplayWidth.pad(reason.kind.rawValue, 10)
                try session.output.line("  \(session.style(.yellow, kind))  \(local(reason.text).printable)")
            }
        }
        return .done
    }

    /// Puts the instants of a sentence in local time, with how far away they are.
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

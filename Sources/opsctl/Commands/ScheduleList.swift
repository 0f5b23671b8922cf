internal import OpsWire

/// `schedule ls`, `show` and `runs`.
enum ScheduleList {
    static func list(_ session: Session) throws(Failure) -> ExitStatus {
        let rows = try session.call(ListSchedulesRequest()).schedules
        if session.wantsJSON {
            for row in rows { try session.row(row) }
            return .done
        }
        let now = Instant.now
        var table = Table(
            [
                .init("SCHEDULE", elastic: true), .init("AT", elastic: true), .init("USER"), .init("NEXT"),
                .init("LAST"), .init("OUTCOME"), .init("MISSED", right: true),
            ], style: session.style, columns: session.screen.columns)
        for row in rows {
            try table.add(
                [
                    .init(row.name.printable, .bold), .init(row.at.joined(separator: ", ").printable),
                    .init(row.user.printable), row.paused ? .init("paused", .yellow) : .init(text(row.next, now)),
                    .init(text(row.last?.nominal, now)), .init(outcome(row)), .init("\(row.missed)"),
                ], to: session.output)
        }
        try table.finish(session.output)
        return .done
    }

    static func show(_ session: Session) throws(Failure) -> ExitStatus {
        let row = try schedule(session.arguments.operands[0], session)
        if session.wantsJSON {
            try session.row(row)
            return .done
        }
        let now = Instant.now
        let lines: [(String, String)] = [
            ("schedule", row.name), ("user", row.user), ("at", row.at.joined(separator: ", ")), ("zone", row.zone),
            ("overlap", row.overlap), ("catch-up", row.catchUp),
            ("next", row.paused ? "paused" : text(row.next, now)),
            ("last", row.last.map { "\(text($0.nominal, now)) \($0.graph ?? "") \(outcome(row))" } ?? ""),
            ("missed", "\(row.missed)"),
        ]
        for (name, value) in lines {
            let padding = String(repeating: " ", count: max(0, 10 - name.count))
            try session.output.line(name + padding + value.printable)
        }
        return .done
    }

    static func runs(_ session: Session) throws(Failure) -> ExitStatus {
        let rows = try session.call(
            ScheduleRunsRequest.with {
                $0.name = session.arguments.operands[0]
                $0.limit = session.arguments.integer(ScheduleVerb.count) ?? 10
            }
        ).runs
        if session.wantsJSON {
            for row in rows { try session.row(row) }
            return .done
        }
        let now = Instant.now
        var table = Table(
            [
                .init("INSTANT"), .init("COUNT", right: true), .init("RESULT"), .init("ORIGIN"), .init("GRAPH"),
                .init("OUTCOME"), .init("NOTE", elastic: true),
            ], style: session.style, columns: session.screen.columns)
        for row in rows {
            try table.add(
                [
                    .init(text(row.nominal, now)), .init("\(row.count)"), .init(row.result), .init(row.origin),
                    .init(row.graph ?? ""),
                    .init(row.outcome?.rawValue ?? (row.result == "run" ? "unfinished" : "")),
                    .init((row.note ?? "").printable),
                ], to: session.output)
        }
        try table.finish(session.output)
        return .done
    }

    static func schedule(_ name: String, _ session: Session) throws(Failure) -> ScheduleRow {
        let reply = try session.call(ListSchedulesRequest.with { $0.name = name })
        guard let row = reply.schedules.first else { throw session.refuse("there is no schedule \(name)", nil) }
        return row
    }

    private static func text(_ instant: String?, _ now: Instant) -> String {
        instant.flatMap { Instant.rfc3339($0) }?.text(now: now) ?? ""
    }

    private static func outcome(_ row: ScheduleRow) -> String {
        guard let last = row.last else { return "" }
        return last.outcome?.rawValue ?? "unfinished"
    }
}

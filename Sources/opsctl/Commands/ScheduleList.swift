internal import OpsDrawing
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
                    .init(row.user.printable), next(row, now), .init(text(row.last?.nominal, now)),
                    .init(outcome(row)), .init("\(row.missed)"),
                ], to: session.output)
        }
        try table.finish(session.output)
        for row in rows {
            guard let problem = row.problem else { continue }
            StandardError.line("opsctl: schedule \(row.name.printable) does not run: \(problem.printable)")
        }
        return .done
    }

    private static func next(_ row: ScheduleRow, _ now: Instant) -> Table.Cell {
        if row.problem != nil { return .init("does not run", .red) }
        return row.paused ? .init("paused", .yellow) : .init(text(row.next, now))
    }

    static func show(_ session: Session) throws(Failure) -> ExitStatus {
        let name = session.arguments.operands[0]
        let reply = try session.call(ListSchedulesRequest.with { $0.name = name })
        guard let row = reply.schedules.first else { throw session.refuse("there is no schedule \(name)", nil) }
        if session.wantsJSON {
            try session.row(
                DefinedSchedule.with {
                    $0.row = row
                    $0.definition = reply.definition
                })
            return .done
        }
        let now = Instant.now
        let last = row.last.map { "\(text($0.nominal, now)) \($0.graph ?? "") \(outcome(row))" }
        var lines = [("schedule", row.name), ("user", row.user), ("problem", row.problem ?? "")]
        lines += given(row, reply.definition)
        lines += [("next", next(row, now).text), ("last", last ?? ""), ("missed", "\(row.missed)")]
        for (name, value) in lines where !value.isEmpty {
            try session.output.line(DisplayWidth.pad(name, 10) + " " + value.printable)
        }
        return .done
    }

    /// A schedule with the graph file that it was given as.
    private struct DefinedSchedule: WireRecord {
        var row = ScheduleRow()
        var definition: RawJSON?

        mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
            try row.visit(&visitor)
            try visitor.field("definition", &definition)
        }
    }

    /// Returns the keys of a schedule's graph file with their values, and the values that apply where none was given.
    private static func given(_ row: ScheduleRow, _ definition: RawJSON?) -> [(String, String)] {
        let file = definition.map { JSONView($0.bytes, 0..<$0.bytes.count).members } ?? []
        let schedule = file.first { $0.key == "schedule" }?.value.members ?? []
        let inEffect: [ScheduleKey: String] = [.zone: row.zone, .overlap: row.overlap, .catchUp: row.catchUp]
        func shown(_ value: JSONView) -> String {
            value.isArray ? value.elements.map(shown).joined(separator: ", ") : value.text ?? value.source
        }
        var lines: [(String, String)] = ScheduleKey.allCases.map { key in
            let value = schedule.first { $0.key == key.rawValue }.map { shown($0.value) }
            return (key.rawValue, value ?? inEffect[key] ?? "")
        }
        for (key, value) in file where ["order", "defaults", "observers"].contains(key) {
            lines.append((key, shown(value)))
        }
        for operation in file.first(where: { $0.key == "operations" })?.value.elements ?? [] {
            lines.append(("operation", operation.source))
        }
        return lines
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

    private static func text(_ instant: String?, _ now: Instant) -> String {
        instant.flatMap { Instant.rfc3339($0) }?.text(now: now) ?? ""
    }

    private static func outcome(_ row: ScheduleRow) -> String {
        guard let last = row.last else { return "" }
        return last.outcome?.rawValue ?? "unfinished"
    }
}

internal import OpsWire

/// `ls`: lists operations as a table, a tree, or one JSON object per line.
enum LsVerb {
    static let columns = Option.value(
        "columns", "NAMES", .text,
        "columns, separated by commas: " + Column.allCases.map(\.rawValue).joined(separator: ", "))
    static let sort = Option.value("sort", "COLUMN", .text, "sort by a column; -COLUMN sorts in descending order (id)")
    static let tree = Option.flag("tree", "show graphs and groups with their members")
    static let watch = Option.flag("watch", "w", "print again after every change")
    static let newest = Option.value("limit", "n", "N", .integer, "only the newest N")

    static let verb = Verb(
        "ls", aliases: ["list"], .looking, "list operations",
        forms: ["[SELECTION] [OPTION...]"],
        about: [
            "Without a selection it lists everything unfinished and the newest 50 that finished within a day; -a "
                + "lists all. Several filters are combined with AND; -s accepts any word of the STATE column."
        ],
        operands: .any(.operation, "OPERATION"),
        options: [OptionGroup("Showing", [columns, sort, tree, watch, newest]), .selection],
        examples: [
            .init("Unfinished work and recent results", "opsctl ls"),
            .init("Everything", "opsctl ls -a"),
            .init("Running operations with their progress", "opsctl ls --state executing"),
            .init("Failures of a graph", "opsctl ls --graph g7 --outcome failed"),
            .init("For a program", "opsctl ls --json --label team=data"),
        ],
        action: run)

    enum Column: String, CaseIterable, Sendable {
        case id, name, graph, state, queue, priority, attempt, time, progress, cause, user, command, labels
        case submitted, started, finished

        static let usual: [Column] = [.id, .name, .graph, .state, .queue, .priority, .time, .progress, .cause]

        var heading: Table.Column {
            switch self {
            case .id: .init("ID", right: true)
            case .priority: .init("PRIO", right: true, rank: 4)
            case .time: .init("TIME", right: true)
            case .attempt: .init("ATTEMPT", right: true)
            case .graph: .init("GRAPH", elastic: true, rank: 2)
            case .queue: .init("QUEUE", elastic: true, rank: 3)
            case .progress: .init("PROGRESS", rank: 1)
            case .cause: .init("CAUSE", elastic: true, rank: 0)
            case .name, .command, .labels: .init(rawValue.uppercased(), elastic: true)
            default: .init(rawValue.uppercased())
            }
        }
    }

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let shown = try chosenColumns(session)
        if session.arguments.has(watch) {
            return try Redraw.afterEachChange(session) { (_) throws(Failure) in try once(session, shown) }
        }
        try once(session, shown)
        return .done
    }

    private static func chosenColumns(_ session: Session) throws(Failure) -> [Column] {
        guard let names = session.arguments.text(columns) else { return Column.usual }
        var chosen: [Column] = []
        for name in names.split(separator: ",").map(String.init) {
            guard let column = Column(rawValue: name.lowercased()) else { throw unknown(name, session) }
            chosen.append(column)
        }
        return chosen.isEmpty ? Column.usual : chosen
    }

    private static func unknown(_ name: String, _ session: Session) -> Failure {
        let names = Column.allCases.map(\.rawValue)
        let near = Nearest.name(to: name, among: names)
        return session.refuse(
            "there is no column \"\(name)\"",
            near.map { "did you mean \($0)?" } ?? "one of " + names.joined(separator: ", "))
    }

    private static func once(_ session: Session, _ shown: [Column]) throws(Failure) {
        let isSorted = session.arguments.has(sort) || session.arguments.has(tree)
        if session.wantsJSON && !isSorted {
            return try each(session) { (row) throws(Failure) in try session.row(row) }
        }
        let now = Instant.now
        if isSorted {
            var rows: [OperationRow] = []
            try each(session) { rows.append($0) }
            if let order = session.arguments.text(sort) { try Sorting(order, session).sort(&rows) }
            if session.wantsJSON {
                for row in rows { try session.row(row) }
            } else if session.arguments.has(tree) {
                try OperationTree(rows).write(session, now: now)
            } else {
                var table = table(shown, session)
                for row in rows { try table.add(cells(row, shown, now), to: session.output) }
                try table.finish(session.output)
            }
            return
        }
        var table = table(shown, session)
        try each(session) { (row) throws(Failure) in try table.add(cells(row, shown, now), to: session.output) }
        try table.finish(session.output)
    }

    /// Writes the operations of several hosts as one table; the host precedes each id.
    static func write(_ all: [(host: String, rows: [OperationRow])], _ session: Session) throws(Failure) {
        try write(all, session, to: session.output, width: session.screen.columns)
    }

    static func write(
        _ all: [(host: String, rows: [OperationRow])], _ session: Session, to output: some LineSink, width: Int?
    ) throws(Failure) {
        let shown = try chosenColumns(session)
        let now = Instant.now
        var rows = all.flatMap { host in host.rows.map { (host: host.host, row: $0) } }
        if let order = session.arguments.text(sort) { try Sorting(order, session).sort(&rows) { $0.row } }
        var table = table(shown, session, width)
        for (host, row) in rows {
            var cells = cells(row, shown, now)
            if let index = shown.firstIndex(of: .id) { cells[index] = Table.Cell("\(host):\(row.id)", .bold) }
            try table.add(cells, to: output)
        }
        try table.finish(output)
    }

    private static func table(_ shown: [Column], _ session: Session) -> Table {
        table(shown, session, session.screen.columns)
    }

    private static func table(_ shown: [Column], _ session: Session, _ width: Int?) -> Table {
        let isChosen = session.arguments.has(columns)
        let headings = shown.map { column in
            var heading = column.heading
            // A column that was chosen with --columns is never left out.
            if isChosen { heading.rank = nil }
            return heading
        }
        return Table(headings, style: session.style, columns: width)
    }

    /// Passes every selected operation to `body` as it arrives. If the connection ends meanwhile, because a pager
    /// pauses for a long time or the daemon restarts, the rest is requested again.
    static func each(_ session: Session, _ body: (OperationRow) throws(Failure) -> Void) throws(Failure) {
        let all = Selection(session.arguments)
        let limit = session.arguments.integer(newest)
        if all.isEmpty, limit == nil { return try recent(session, body) }
        try each(session, all, limit: limit, body)
    }

    /// Returns all unfinished operations, and the newest of those that finished within a day.
    private static func recent(
        _ session: Session, _ body: (OperationRow) throws(Failure) -> Void
    ) throws(Failure) {
        func finished(since start: Instant) throws(Failure) -> [OperationRow] {
            let selection = Selection.with { $0.state = StateName.finished.rawValue }
            let rows = try session.rows(of: selection, limit: looked, newest: true)
            let late = rows.filter { ($0.finishedAt.instant ?? start) >= start }
            return late.sorted { ($0.finishedAt ?? "", $0.id) > ($1.finishedAt ?? "", $1.id) }.prefix(shownFinished)
                .sorted { $0.id < $1.id }
        }
        let begun = Instant.now
        var ended = try finished(since: begun + Span(nanoseconds: -86_400 * 1_000_000_000))[...]
        var shown = Set(ended.map(\.id))
        try each(session, Selection.with { $0.state = "active" }, limit: nil) { (row) throws(Failure) in
            while let first = ended.first, first.id < row.id { try body(ended.removeFirst()) }
            if shown.insert(row.id).inserted { try body(row) }
        }
        for row in ended { try body(row) }
        // An operation that finished between the two queries is missing in both answers.
        for row in try finished(since: begun + Span(milliseconds: -1)) where !shown.contains(row.id) { try body(row) }
    }

    private static let shownFinished = 50
    /// Number of finished operations to look at, newest first.
    private static let looked = 1000

    static func each(
        _ session: Session, _ all: Selection, limit: Int?, _ body: (OperationRow) throws(Failure) -> Void
    ) throws(Failure) {
        var last: Int64 = 0
        while true {
            let first = last
            let selection = first > 0 && limit == nil ? all.after(first) : all
            do throws(Failure) {
                return try session.stream(ListRequest(selection, limit: limit, newest: limit != nil)) {
                    (reply) throws(Failure) in
                    for row in reply.operations where row.id > first {
                        try body(row)
                        last = row.id
                    }
                    return true
                }
            } catch {
                guard error.isLoss, last > first else { throw error }
                try session.awaitReturn(after: error)
            }
        }
    }

    static func cells(_ row: OperationRow, _ shown: [Column], _ now: Instant) -> [Table.Cell] {
        shown.map { cell(row, $0, now) }
    }

    private static func cell(_ row: OperationRow, _ column: Column, _ now: Instant) -> Table.Cell {
        func clock(_ instant: Instant?) -> Table.Cell { .init(instant?.text(now: now) ?? "") }
        switch column {
        case .id: return .init("\(row.id)", .bold)
        case .name: return .init(row.title)
        case .graph: return .init(row.graphName ?? row.graph)
        case .state: return .init(row.standing.text, row.standing.colour)
        case .queue: return .init(row.queue)
        case .priority:
            let isRaised = row.effectivePriority != row.priority && row.outcome == nil
            return .init("\(row.priority)" + (isRaised ? "→\(row.effectivePriority)" : ""))
        case .attempt: return .init("\(row.attempt)")
        case .time: return .init(row.age(now: now)?.text ?? "", row.startedAt == nil ? .dim : nil)
        case .progress:
            return .init(row.progress.map { ProgressBar.text($0, cells: 8) } ?? "")
        case .cause: return .init(row.remark)
        case .user: return .init(row.user)
        case .command: return .init(OperationRow.shown(row.command ?? []).printable)
        case .labels: return .init(row.labelText.printable)
        case .submitted: return clock(row.submittedAt.instant)
        case .started: return clock(row.startedAt.instant)
        case .finished: return clock(row.finishedAt.instant)
        }
    }

    /// Sorts by one column; equal rows keep the order of their ids.
    private struct Sorting {
        let column: Column
        let isDownwards: Bool

        init(_ text: String, _ session: Session) throws(Failure) {
            isDownwards = text.hasPrefix("-")
            let name = isDownwards ? String(text.dropFirst()) : text
            guard let column = Column(rawValue: name.lowercased()) else { throw unknown(name, session) }
            self.column = column
        }

        func sort(_ rows: inout [OperationRow]) { sort(&rows, by: { $0 }) }

        func sort<Element>(_ elements: inout [Element], by row: (Element) -> OperationRow) {
            let now = Instant.now
            let keyed = elements.map { (key: key(row($0), now), element: $0) }
            elements = keyed.sorted {
                if $0.key == $1.key { return row($0.element).id < row($1.element).id }
                return isDownwards ? $0.key > $1.key : $0.key < $1.key
            }.map(\.element)
        }

        /// Sort key; numbers come before texts.
        private struct Key: Comparable {
            let number: Int64
            let text: String
            static func < (a: Key, b: Key) -> Bool { a.number == b.number ? a.text < b.text : a.number < b.number }
        }

        private func key(_ row: OperationRow, _ now: Instant) -> Key {
            func number(_ value: Int64?) -> Key { Key(number: value ?? .max, text: "") }
            switch column {
            case .id: return number(row.id)
            case .priority: return number(Int64(row.effectivePriority))
            case .attempt: return number(Int64(row.attempt))
            case .time: return number(row.age(now: now)?.nanoseconds)
            case .submitted: return number(row.submittedAt.instant?.nanoseconds)
            case .started: return number(row.startedAt.instant?.nanoseconds)
            case .finished: return number(row.finishedAt.instant?.nanoseconds)
            case .progress:
                return number(
                    row.progress.map { Int64(1000 * ProgressBar.share(done: Int($0.done), total: Int($0.total ?? 1))) })
            case .name, .graph, .state, .queue, .cause, .user, .command, .labels:
                return Key(number: 0, text: cell(row, column, now).text)
            }
        }
    }
}

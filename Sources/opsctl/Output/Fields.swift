internal import OpsDrawing

/// Lines with labels. Labels are right-aligned; values are not wrapped.
struct Fields {
    private var rows: [(label: String, value: String, colour: Style.Colour?)] = []

    mutating func add(_ label: String, _ value: String?, _ colour: Style.Colour? = nil) {
        guard let value, !value.isEmpty else { return }
        rows.append((label, value.printable, colour))
    }

    func write(_ session: Session) throws(Failure) {
        let width = rows.map { DisplayWidth.of($0.label) }.max() ?? 0
        for row in rows {
            let label = DisplayWidth.pad(row.label, width, toLeft: true)
            let room = session.screen.columns.map { max(10, $0 - width - 3) } ?? .max
            try session.output.line(
                "\(session.style(.dim, label))  \(session.style(row.colour, DisplayWidth.fit(row.value, room)))")
        }
    }
}

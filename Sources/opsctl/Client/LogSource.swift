internal import OpsWire

/// Output of one of several operations, each line with the name of its operation.
final class LogSource {
    let feed: LogFeed
    private let label: String
    private var lines = LogLines()
    private static let colours: [Style.Colour] = [.cyan, .yellow, .green, .magenta, .blue, .red]

    /// - Parameter index: Index among the sources, which determines the colour of the name.
    init(_ feed: LogFeed, name: String, index: Int, _ style: Style) {
        self.feed = feed
        label = style(Self.colours[index % Self.colours.count], name + " |")
    }

    /// Waits for the next pieces and writes their lines.
    func read(_ session: Session, _ writer: LogLineWriter) throws(Failure) {
        try feed.read { (reply, data) throws(Failure) in
            if session.wantsJSON, !writer.needsLines { return try session.row(reply) }
            try lines.add(reply, data) { (line) throws(Failure) in try writer.write(line, of: feed, label) }
        }
        guard !feed.isOpen else { return }
        try lines.finish { (line) throws(Failure) in try writer.write(line, of: feed, label) }
    }
}

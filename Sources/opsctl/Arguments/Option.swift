internal import OpsWire

typealias Option = CommandOption

/// Options that appear together under one heading of help.
struct OptionGroup: Sendable {
    let title: String
    let options: [Option]

    init(_ title: String, _ options: [Option]) {
        self.title = title
        self.options = options
    }
}

extension Option {
    /// Returns the refusal of a value that is not of the option's kind; nil if it is.
    ///
    /// - Parameter spelled: The option as the command line names it.
    func refusal(of value: String, spelled: String, _ path: String) -> Failure? {
        guard let complaint = kind?.complaint(about: value) else { return nil }
        let near = Nearest.name(to: value, among: kind?.words ?? [])
        return .usage(path, "\(spelled) takes \(complaint), not \"\(value)\"", near.map { "did you mean \($0)?" })
    }
}

extension Option {
    static let socket = Option.value("socket", "PATH", .file, "socket of the daemon")
    static let json = Option.flag("json", "print one JSON object per line, with stable keys")
    static let color = Option.value(
        "color", "WHEN", .choice(["auto", "always", "never"]),
        "colours: auto (on a terminal, without NO_COLOR), always or never")
    static let showHelp = Option.flag("help", "h", "show this help")

    /// Options that every verb accepts, before or after its name.
    static let everywhere = OptionGroup("Global options", [.json, .socket, .host, .color, .showHelp])
}

extension Option {
    static let graph = Option.value("graph", "g", "G", .graph, "in graph G (g7, or its name)")
    static let queue = Option.value("queue", "q", "Q", .queue, "in queue Q")
    static let state = Option.value(
        "state", "s", "S,...", .choices(Standing.words),
        "in one of these states: a word of the STATE column, waiting, or active (unfinished)")
    static let active = Option.flag("active", "unfinished: as -s active")
    static let outcome = Option.value(
        "outcome", "OUTCOME,...", .choices(OutcomeName.known.map(\.rawValue) + ["not needed", "notNeeded"]),
        "with one of these outcomes")
    static let label = Option.value("label", "l", "K=V", .keyValue, "with this label")
    static let user = Option.value("user", "u", "USER", .text, "of this user")
    static let all = Option.flag("all", "a", "every operation")
}

extension OptionGroup {
    /// Filters of operations; several together are combined with AND.
    static let selection = OptionGroup(
        "Selecting operations",
        [
            Option.graph, Option.queue, Option.state, Option.active, Option.outcome, Option.label, Option.user,
            Option.all,
        ])
}

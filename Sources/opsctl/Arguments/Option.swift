internal import OpsWire

/// One option of a verb. Its name is its identity.
struct Option: Sendable {
    /// Long, without dashes.
    let name: String
    let short: Character?
    /// Nil for a flag.
    let kind: ValueKind?
    let placeholder: String
    let help: String
    /// Long too: the key of an operation that it sets, where a flag is called otherwise.
    var alias: String?

    static func flag(_ name: String, _ help: String) -> Option {
        Option(name: name, short: nil, kind: nil, placeholder: "", help: help)
    }

    static func flag(_ name: String, _ short: Character, _ help: String) -> Option {
        Option(name: name, short: short, kind: nil, placeholder: "", help: help)
    }

    func known(as alias: String) -> Option {
        var option = self
        option.alias = alias
        return option
    }

    func isCalled(_ name: String) -> Bool { name == self.name || name == alias }

    static func value(_ name: String, _ placeholder: String, _ kind: ValueKind, _ help: String) -> Option {
        Option(name: name, short: nil, kind: kind, placeholder: placeholder, help: help)
    }

    static func value(
        _ name: String, _ short: Character, _ placeholder: String, _ kind: ValueKind, _ help: String
    ) -> Option {
        Option(name: name, short: short, kind: kind, placeholder: placeholder, help: help)
    }

    /// The help with the other name.
    var about: String { alias.map { "\(help); also --\($0)" } ?? help }

    /// `-n, --lines N`, as help and manual pages write it.
    var spelling: String {
        let long = kind == nil ? "--\(name)" : "--\(name) \(placeholder)"
        guard let short else { return "    " + long }
        return "-\(short), " + long
    }
}

/// Options that are told of together.
struct OptionGroup: Sendable {
    let title: String
    let options: [Option]

    init(_ title: String, _ options: [Option]) {
        self.title = title
        self.options = options
    }
}

extension Option {
    static let socket = Option.value("socket", "PATH", .file, "the daemon's socket")
    static let json = Option.flag("json", "one JSON object a line, with stable keys")
    static let color = Option.value(
        "color", "WHEN", .choice(["auto", "always", "never"]),
        "colours: auto (on a terminal, without NO_COLOR), always or never")
    static let help = Option.flag("help", "h", "show this help")

    /// Every verb takes these, before or after its name.
    static let everywhere = OptionGroup("Global options", [.json, .socket, .color, .help])
}

extension Option {
    static let graph = Option.value("graph", "g", "G", .graph, "in graph G (g7, or its name)")
    static let queue = Option.value("queue", "q", "Q", .queue, "in queue Q")
    static let state = Option.value(
        "state", "s", "S", .choice(StateName.known.map(\.rawValue)), "in this state")
    static let outcome = Option.value(
        "outcome", "OUTCOME", .choice(OutcomeName.known.map(\.rawValue)), "with this outcome")
    static let label = Option.value("label", "l", "K=V", .keyValue, "with this label")
    static let user = Option.value("user", "u", "USER", .text, "of this user")
    static let all = Option.flag("all", "a", "every operation")
}

extension OptionGroup {
    /// Filters of operations; several together are combined with AND.
    static let selection = OptionGroup(
        "Selecting operations",
        [Option.graph, Option.queue, Option.state, Option.outcome, Option.label, Option.user, Option.all])
}

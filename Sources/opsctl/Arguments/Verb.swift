internal import OpsModel

/// One verb of opsctl. Parser, help, completion and manual pages all use this description.
struct Verb: Sendable {
    /// Operands that may follow the options.
    enum Operands: Sendable {
        case none
        /// A command with its arguments: everything from the first word that is not an option.
        case command
        /// A name, then options, then a command.
        case nameAndCommand
        case list(ValueKind, name: String, atLeast: Int, atMost: Int)

        static func one(_ kind: ValueKind, _ name: String) -> Operands {
            .list(kind, name: name, atLeast: 1, atMost: 1)
        }
        static func any(_ kind: ValueKind, _ name: String) -> Operands {
            .list(kind, name: name, atLeast: 0, atMost: .max)
        }
        static func some(_ kind: ValueKind, _ name: String) -> Operands {
            .list(kind, name: name, atLeast: 1, atMost: .max)
        }
        static func perhaps(_ kind: ValueKind, _ name: String) -> Operands {
            .list(kind, name: name, atLeast: 0, atMost: 1)
        }
    }

    struct Example: Sendable {
        let says: String
        let command: String
        init(_ says: String, _ command: String) {
            self.says = says
            self.command = command
        }
    }

    /// Section of help and manual to which a verb belongs.
    enum Chapter: String, Sendable, CaseIterable {
        case submitting = "Submit"
        case looking = "Inspect"
        case steering = "Control"
        case keeping = "Manage"
    }

    typealias Action = @Sendable (Session) throws(Failure) -> ExitStatus

    let name: String
    let aliases: [String]
    let chapter: Chapter
    let summary: String
    let operands: Operands
    // Texts are made only when they are needed: a verb that is only performed needs few of them.
    private let makeForms: @Sendable () -> [String]
    private let makeAbout: @Sendable () -> [String]
    private let makeGroups: @Sendable () -> [OptionGroup]
    private let makeExamples: @Sendable () -> [Example]
    private let makeVerbs: @Sendable () -> [Verb]
    let isHidden: Bool
    let action: Action?

    /// Synopses without the verb, one line for each form.
    var forms: [String] { makeForms() }
    /// Paragraphs of the description.
    var about: [String] { makeAbout() }
    var groups: [OptionGroup] { makeGroups() }
    var examples: [Example] { makeExamples() }
    var verbs: [Verb] { makeVerbs() }

    init(
        _ name: String, aliases: [String] = [], _ chapter: Chapter, _ summary: String,
        forms: @autoclosure @escaping @Sendable () -> [String],
        about: @autoclosure @escaping @Sendable () -> [String] = [], operands: Operands = .none,
        options: @autoclosure @escaping @Sendable () -> [OptionGroup] = [],
        examples: @autoclosure @escaping @Sendable () -> [Example] = [],
        verbs: @autoclosure @escaping @Sendable () -> [Verb] = [], isHidden: Bool = false, action: Action? = nil
    ) {
        self.name = name
        self.aliases = aliases
        self.chapter = chapter
        self.summary = summary
        self.operands = operands
        makeForms = forms
        makeAbout = about
        makeGroups = options
        makeExamples = examples
        makeVerbs = verbs
        self.isHidden = isHidden
        self.action = action
    }

    /// True for a verb that calls a daemon in each case. `next` calls one only with the name of a schedule.
    var asksDaemon: Bool {
        ![
            HelpVerb.verb.name, CompletionVerb.verb.name, CompletionVerb.candidates.name, VersionVerb.verb.name,
            ManVerb.verb.name, SchemaVerb.verb.name, TellVerb.verb.name, BridgeVerb.verb.name, HostVerb.verb.name,
            ScheduleVerb.next.name,
        ].contains(name)
    }

    func option(long name: String) -> Option? {
        for group in groups {
            for option in group.options where option.isCalled(name) { return option }
        }
        return Option.everywhere.options.first { $0.name == name }
    }

    func option(short: Character) -> Option? {
        for group in groups {
            for option in group.options where option.short == short { return option }
        }
        return Option.everywhere.options.first { $0.short == short }
    }

    var optionNames: [String] {
        (groups + [.init("", Option.everywhere.options)]).flatMap { $0.options.map(\.name) }
    }

    func verb(named word: String) -> Verb? {
        verbs.first { $0.name == word || $0.aliases.contains(word) }
    }
}

/// One entry of the table of operation keys: it drives decoder, `set`, options, help, manual and permissions.
public struct KeyEntry: Sendable {
    public struct Traits: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The key describes a process: a group has none.
        public static let process = Traits(rawValue: 1)
        /// The key belongs to one operation: it cannot stand in `defaults`.
        public static let single = Traits(rawValue: 2)
        /// `set` may change the key while the operation waits.
        public static let editable = Traits(rawValue: 4)
        /// `set` may remove the value.
        public static let removable = Traits(rawValue: 8)
        /// The key says when the operation starts: given beside a graph file it is for those that wait for no other.
        public static let start = Traits(rawValue: 16)
    }

    /// A chapter of help and manual.
    public enum Chapter: String, Sendable, CaseIterable {
        case identity = "What it is"
        case order = "When it runs"
        case ending = "How it ends"
        case resources = "What it uses"
    }

    public let chapter: Chapter
    public let traits: Traits
    /// Options of `submit` and `run`.
    public let options: [CommandOption]
    /// Options of `set`.
    public let editOptions: [CommandOption]
    private let makeForm: @Sendable () -> ValueForm
    private let makeManual: @Sendable () -> Manual

    /// The JSON form of the value.
    public var form: ValueForm { makeForm() }
    public var manual: Manual { makeManual() }

    /// Text of the manual beside the form. Text between backquotes is literal.
    public struct Manual: Sendable {
        /// The value of an operation that does not set the key.
        public let fallback: String
        /// Paragraphs.
        public let about: [String]
        /// JSON of a member.
        public let example: String

        public init(default fallback: String, _ about: String..., example: String) {
            self.fallback = fallback
            self.about = about
            self.example = example
        }
    }

    /// `editing`: the options of `set`, where they are not those of `submit` with `none` for a key that is removable.
    public init(
        _ chapter: Chapter, _ traits: Traits = [], _ form: @autoclosure @escaping @Sendable () -> ValueForm,
        _ manual: @autoclosure @escaping @Sendable () -> Manual, options: [CommandOption] = [],
        editing: [CommandOption]? = nil
    ) {
        self.chapter = chapter
        self.traits = traits
        self.options = options
        let edits = editing ?? options
        // The option of a member cannot remove the value.
        let isRemovable = traits.contains(.removable)
        editOptions =
            traits.contains(.editable) ? edits.map { isRemovable && $0.isOfWholeKey ? $0.orNone : $0 } : []
        makeForm = form
        makeManual = manual
    }
}

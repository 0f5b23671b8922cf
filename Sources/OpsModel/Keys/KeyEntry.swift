/// One entry of the table of operation keys. Decoder, `set`, options, help, manual and permissions use it.
public struct KeyEntry: Sendable {
    public struct Traits: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The key describes a process, so a group cannot have it.
        public static let process = Traits(rawValue: 1)
        /// The key belongs to a single operation, so `defaults` cannot contain it.
        public static let single = Traits(rawValue: 2)
        /// `set` may change the key while the operation waits.
        public static let editable = Traits(rawValue: 4)
        /// `set` may remove the value.
        public static let removable = Traits(rawValue: 8)
        /// The key determines when the operation starts. As an option with a graph file, it applies to operations
        /// without dependencies.
        public static let start = Traits(rawValue: 16)
    }

    /// Chapter of help and manual.
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

    /// JSON form of the value.
    public var form: ValueForm { makeForm() }
    public var manual: Manual { makeManual() }

    /// Text of the manual, in addition to the form. Text between backquotes is literal.
    public struct Manual: Sendable {
        /// Value for an operation that does not set the key.
        public let fallback: String
        /// Paragraphs of the description.
        public let about: [String]
        /// Example as a JSON member.
        public let example: String

        public init(default fallback: String, _ about: String..., example: String) {
            self.fallback = fallback
            self.about = about
            self.example = example
        }
    }

    /// - Parameter editing: Options of `set`; nil for those of `submit`, with `none` if the key is removable.
    public init(
        _ chapter: Chapter, _ traits: Traits = [], _ form: @autoclosure @escaping @Sendable () -> ValueForm,
        _ manual: @autoclosure @escaping @Sendable () -> Manual, options: [CommandOption] = [],
        editing: [CommandOption]? = nil
    ) {
        self.chapter = chapter
        self.traits = traits
        self.options = options
        let edits = editing ?? options
        let isRemovable = traits.contains(.removable)
        editOptions =
            traits.contains(.editable) ? edits.map { isRemovable && $0.canBeRemoved ? $0.orNone : $0 } : []
        makeForm = form
        makeManual = manual
    }
}

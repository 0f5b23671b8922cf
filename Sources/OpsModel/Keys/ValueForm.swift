/// JSON form of a value in a graph file. Manual and schema are generated from it.
public indirect enum ValueForm: Sendable {
    /// A text; in the schema it must match the pattern.
    case text(maxBytes: Int, pattern: String? = nil)
    /// 1 to 200 letters, digits and `_ . : / -`.
    case name
    /// A name that is not all digits.
    case operationName
    case path
    case boolean
    case integer(ClosedRange<Int64>)
    case number(ClosedRange<Double>)
    case duration(canBeZero: Bool)
    /// A duration after the submission, or an instant.
    case time
    case size
    case octal
    case percent
    case choice([String])
    /// An object of texts.
    case map(maxEntries: Int)
    /// An object with names that the user chooses.
    case entries(ValueForm, maxEntries: Int)
    case object([Member], canBeEmpty: Bool = true)
    /// A program and its arguments.
    case argumentVector
    case list(ValueForm, ClosedRange<Int>)
    /// A reference to an operation.
    case reference
    case operation
    /// An object with one test of a condition.
    case test
    case either([ValueForm])

    /// A member of an object.
    public struct Member: Sendable {
        public let name: String
        public let form: ValueForm
        /// Default; nil if the member is required, and empty if the object has exactly one of such members.
        public let fallback: String?
        public let about: String

        public init(_ name: String, _ form: ValueForm, default fallback: String? = nil, _ about: String) {
            self.name = name
            self.form = form
            self.fallback = fallback
            self.about = about
        }
    }

    /// Members of an object that has this form.
    public var members: [Member] {
        switch self {
        case .object(let members, _): members
        case .list(let element, _): element.members
        case .either(let forms): forms.flatMap(\.members)
        default: []
        }
    }
}

/// Kind of value of an option or operand. It determines how the value is checked, completed and named in help.
public indirect enum ValueKind: Sendable, Equatable {
    case text
    /// An integer from 0 on.
    case integer
    case number
    case duration
    /// A duration from now, or an instant.
    case time
    /// A duration before now, or a past instant.
    case past
    case size
    case keyValue
    case file
    case directory
    case command
    case operation
    case graph
    case queue
    case category
    case choice([String])
    /// One or more of these words, separated by commas.
    case choices([String])
    /// A value, or `none` to remove it.
    case orNone(ValueKind)
}

/// One option of a verb. Its name is its identity.
public struct CommandOption: Sendable {
    /// Conversion of an option's text to the JSON of a key, or of a member of its object.
    public enum Encoding: Sendable {
        case text
        /// A path relative to the current directory, which is made absolute.
        case path
        case integer, number
        /// True if the option is given.
        case flag
        /// A duration, or an instant, which is written in RFC 3339.
        case time
        /// Exit codes, separated by commas.
        case codes
        /// Texts, separated by commas.
        case words
        /// An object of texts.
        case pairs
        /// An object of texts and integers.
        case quantities
        /// An object of numbers.
        case factors
        /// Written by a function of opsctl for this key.
        case special
    }

    /// Long name without dashes.
    public let name: String
    public let short: Character?
    /// Kind of the value; nil for a flag.
    public var kind: ValueKind?
    public var placeholder: String
    public let help: String
    /// Another long name: the key of an operation, if the flag has a different name.
    public var alias: String?
    public var encoding = Encoding.special
    /// Member of the key's object; nil if the option sets the whole key.
    public var member: String?
    /// True if all words after the value are values too.
    public var takesRest = false

    public static func flag(_ name: String, _ help: String) -> CommandOption {
        CommandOption(name: name, short: nil, kind: nil, placeholder: "", help: help)
    }

    public static func flag(_ name: String, _ short: Character, _ help: String) -> CommandOption {
        CommandOption(name: name, short: short, kind: nil, placeholder: "", help: help)
    }

    public static func value(
        _ name: String, _ placeholder: String, _ kind: ValueKind, _ help: String
    ) -> CommandOption {
        CommandOption(name: name, short: nil, kind: kind, placeholder: placeholder, help: help)
    }

    public static func value(
        _ name: String, _ short: Character, _ placeholder: String, _ kind: ValueKind, _ help: String
    ) -> CommandOption {
        CommandOption(name: name, short: short, kind: kind, placeholder: placeholder, help: help)
    }

    public func known(as alias: String) -> CommandOption {
        var option = self
        option.alias = alias
        return option
    }

    public func written(as encoding: Encoding, member: String? = nil) -> CommandOption {
        var option = self
        (option.encoding, option.member) = (encoding, member)
        return option
    }

    /// The option, with all words that follow as values.
    public var withRest: CommandOption {
        var option = self
        option.takesRest = true
        return option
    }

    /// The option, with `none` as an additional value.
    public var orNone: CommandOption {
        guard let kind else { return self }
        var option = self
        (option.kind, option.placeholder) = (.orNone(kind), placeholder + "|none")
        return option
    }

    /// True if `none` as a value removes the whole key, or a member whose absence no other value expresses.
    var canBeRemoved: Bool { member.map { ["limit", "exitCodes", "scale"].contains($0) } ?? true }

    public func isCalled(_ name: String) -> Bool { name == self.name || name == alias }

    /// Help text with the other name.
    public var about: String { alias.map { "\(help); also --\($0)" } ?? help }

    /// Form in help and manual pages: `-n, --lines N`.
    public var spelling: String {
        let long = kind == nil ? "--\(name)" : "--\(name) \(placeholder)"
        guard let short else { return "    " + long }
        return "-\(short), " + long
    }
}

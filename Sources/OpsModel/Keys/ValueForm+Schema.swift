/// JSON Schema (draft 2020-12) of the forms of values.
extension ValueForm {
    /// Returns a schema as JSON text. Operations and tests, which can contain others, refer to `$defs`.
    public var schema: String {
        switch self {
        case .text(let bytes, let pattern): Self.text(bytes, pattern)
        case .name: #"{"type": "string", \#(Self.pattern("^\(Self.nameSyntax)$"))}"#
        case .operationName: #"{"type": "string", \#(Self.pattern("^(?![0-9]+$)\(Self.nameSyntax)$"))}"#
        case .path: #"{"type": "string", "minLength": 1, "maxLength": \#(Limits.pathBytes)}"#
        case .boolean: #"{"type": "boolean"}"#
        case .integer(let range):
            #"{"type": "integer", "minimum": \#(range.lowerBound), "maximum": \#(range.upperBound)}"#
        case .number(let range):
            #"{"type": "number", "minimum": \#(range.lowerBound), "maximum": \#(range.upperBound)}"#
        case .duration(let canBeZero):
            #"{"type": ["string", "number"], "\#(canBeZero ? "minimum" : "exclusiveMinimum")": 0, "#
                + Self.pattern("^[0-9.]") + "}"
        case .time: #"{"type": ["string", "number"], "minimum": 0, \#(Self.pattern("^[0-9.]"))}"#
        case .size: #"{"type": ["string", "integer"], "minimum": 0, \#(Self.pattern("^[0-9.]"))}"#
        case .octal: #"{"type": "string", \#(Self.pattern("^0?[0-7]{1,3}$"))}"#
        case .percent: #"{"type": "string", \#(Self.pattern("^[0-9]+%$"))}"#
        case .choice(let words): #"{"enum": [\#(Self.quoted(words))]}"#
        case .map(let entries): Self.map(of: #"{"type": "string"}"#, entries)
        case .entries(let form, let entries): Self.map(of: form.schema, entries)
        case .object(let members, let canBeEmpty): Self.object(members, canBeEmpty)
        case .argumentVector: #"{"type": "array", "minItems": 1, "items": {"type": "string"}}"#
        case .list(let element, let range):
            #"{"type": "array", "minItems": \#(range.lowerBound), "maxItems": \#(range.upperBound), "#
                + #""items": \#(element.schema)}"#
        case .reference: #"{"type": ["string", "integer"]}"#
        case .operation: ##"{"$ref": "#/$defs/operation"}"##
        case .test: ##"{"$ref": "#/$defs/test"}"##
        case .either(let forms): #"{"anyOf": [\#(forms.map(\.schema).joined(separator: ", "))]}"#
        }
    }

    /// Expression for the text of a name.
    private static let nameSyntax = "[A-Za-z0-9_.:/-]{1,\(Limits.nameBytes)}"

    /// Returns a pattern for values and for texts with a placeholder.
    private static func pattern(_ expression: String) -> String { #""pattern": "\#(expression)|\\$\\{""# }

    private static func text(_ bytes: Int, _ expression: String?) -> String {
        let rest = expression.map { ", " + pattern($0) } ?? ""
        return #"{"type": "string", "minLength": 1, "maxLength": \#(bytes)\#(rest)}"#
    }

    /// Returns the schema of an object with variables, labels or placeholders.
    private static func map(of value: String, _ entries: Int) -> String {
        #"{"type": "object", "maxProperties": \#(entries), "propertyNames": {"pattern": "^[^=\\u0000]+$"}, "#
            + #""additionalProperties": \#(value)}"#
    }

    private static func object(_ members: [Member], _ canBeEmpty: Bool) -> String {
        let properties = members.map { #""\#($0.name)": \#($0.form.schema)"# }.joined(separator: ", ")
        let required = quoted(members.filter { $0.fallback == nil }.map(\.name))
        let alternatives = members.filter { $0.fallback == "" }.map { #"{"required": ["\#($0.name)"]}"# }
        let choice = alternatives.isEmpty ? "" : #""oneOf": [\#(alternatives.joined(separator: ", "))], "#
        let least = canBeEmpty ? "" : #""minProperties": 1, "#
        return #"{"type": "object", "properties": {\#(properties)}, "required": [\#(required)], \#(choice)\#(least)"#
            + #""additionalProperties": false}"#
    }

    private static func quoted(_ words: [String]) -> String {
        words.map { "\"\($0)\"" }.joined(separator: ", ")
    }
}

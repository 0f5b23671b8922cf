/// JSON Schema (draft 2020-12) of the forms of values.
extension ValueForm {
    /// Returns a schema as JSON text. Operations and tests, which can contain others, refer to `$defs`.
    public var schema: String {
        switch self {
        case .text(let bytes): #"{"type": "string", "minLength": 1, "maxLength": \#(bytes)}"#
        case .name: #"{"type": "string", "pattern": "^[A-Za-z0-9_.:/-]{1,\#(Limits.nameBytes)}$"}"#
        case .path: #"{"type": "string", "minLength": 1, "maxLength": \#(Limits.pathBytes)}"#
        case .boolean: #"{"type": "boolean"}"#
        case .integer(let range):
            #"{"type": "integer", "minimum": \#(range.lowerBound), "maximum": \#(range.upperBound)}"#
        case .number(let range):
            #"{"type": "number", "minimum": \#(range.lowerBound), "maximum": \#(range.upperBound)}"#
        case .duration(let canBeZero):
            #"{"type": ["string", "number"], "\#(canBeZero ? "minimum" : "exclusiveMinimum")": 0, "pattern": "^[0-9.]"}"#
        case .time: #"{"type": ["string", "number"], "minimum": 0, "pattern": "^[0-9.]"}"#
        case .size: #"{"type": ["string", "integer"], "minimum": 0, "pattern": "^[0-9.]"}"#
        case .octal: #"{"type": "string", "pattern": "^[0-7]{1,4}$"}"#
        case .percent: #"{"type": "string", "pattern": "^[0-9]+%$"}"#
        case .choice(let words): #"{"enum": [\#(Self.quoted(words))]}"#
        case .map(let entries):
            #"{"type": "object", "maxProperties": \#(entries), "additionalProperties": {"type": "string"}}"#
        case .entries(let form, let entries):
            #"{"type": "object", "maxProperties": \#(entries), "additionalProperties": \#(form.schema)}"#
        case .object(let members): Self.object(members)
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

    private static func object(_ members: [Member]) -> String {
        let properties = members.map { #""\#($0.name)": \#($0.form.schema)"# }.joined(separator: ", ")
        let required = quoted(members.filter { $0.fallback == nil }.map(\.name))
        return #"{"type": "object", "properties": {\#(properties)}, "required": [\#(required)], "#
            + #""additionalProperties": false}"#
    }

    private static func quoted(_ words: [String]) -> String {
        words.map { "\"\($0)\"" }.joined(separator: ", ")
    }
}

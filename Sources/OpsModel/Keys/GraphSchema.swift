/// JSON Schema (draft 2020-12) of graph files, generated from the table of operation keys.
public enum GraphSchema {
    public static var text: String {
        let shared = OperationKey.allCases.filter { !$0.isOfOneAlone }
        return ##"""
            {
              "$schema": "https://json-schema.org/draft/2020-12/schema",
              "title": "Graph file of opsd",
              "if": {"type": "array"},
              "then": {"items": {"$ref": "#/$defs/operation"}, "minItems": 1},
              "else": {
                "if": {"anyOf": [\##(singleOperation)]},
                "then": {"$ref": "#/$defs/operation"},
                "else": {"$ref": "#/$defs/graph"}
              },
              "$defs": {
                "graph": {
                  "type": "object",
                  "properties": {
                    "name": \##(orNull(name, "Name of the graph.")),
                    "defaults": {"anyOf": [{"$ref": "#/$defs/defaults"}, {"type": "null"}]},
                    "order": \##(orNull(#"{"enum": ["submission", "longestPath"]}"#, orderAbout)),
                    "schedule": {"anyOf": [{"$ref": "#/$defs/schedule"}, {"type": "null"}]},
                    "observers": \##(orNull(ValueForm.object(observers).schema, observersAbout)),
                    "operations": {"type": "array", "items": {"$ref": "#/$defs/operation"}, "minItems": 1}
                  },
                  "required": ["operations"],
                  "additionalProperties": false
                },
                "schedule": {
                  "type": "object",
                  "properties": {
            \##(ScheduleKey.allCases.map { "        \"\($0.rawValue)\": " + orNull($0.schema, $0.manual.about) }
                .joined(separator: ",\n"))
                  },
                  "additionalProperties": false
                },
                "operation": \##(operation),
                "test": \##(ValueForm.object(KeyEntry.tests).schema),
                "defaults": {
                  "type": "object",
                  "properties": {
            \##(properties(shared))
                  },
                  "additionalProperties": false
                }
              }
            }

            """##
    }

    private static var operation: String {
        ##"""
        {
              "type": "object",
              "properties": {
        \##(properties(OperationKey.allCases))
              },
              "allOf": [
                {
                  "if": {"properties": {"limit": {"type": "integer"}}, "required": ["limit"]},
                  "then": {"anyOf": [{"required": ["operations"]}, {"required": ["include"]}]}
                },
                {
                  "if": {"properties": {"set": {"type": "object"}}, "required": ["set"]},
                  "then": {"required": ["include"]}
                },
                {
                  "if": {"anyOf": [
        \##(OperationKey.contents.filter { !$0.isOfProcess }.map { hasValue($0.text) }.joined(separator: ",\n"))
                  ]},
                  "then": {"properties": {\##(withoutProcess)}}
                }
              ],
              "oneOf": [
        \##(OperationKey.contents.map { hasValue($0.text) }.joined(separator: ",\n"))
              ],
              "additionalProperties": false
            }
        """##
    }

    /// The name of a graph: without control characters, and not an id.
    private static let name =
        #"{"type": "string", "minLength": 1, "maxLength": \#(Limits.nameBytes), "#
        + #""pattern": "^(?!g?[0-9]+$)[^\\u0000-\\u001f\\u007f]+$"}"#

    /// The keys that a group cannot have.
    private static let withoutProcess = OperationKey.allCases.filter(\.isOfProcess)
        .map { #""\#($0.text)": {"type": "null"}"# }.joined(separator: ", ")

    private static let singleOperation =
        OperationKey.ofSingleOperation.map { #"{"required": ["\#($0.text)"]}"# }.joined(separator: ", ")

    /// Observers of a graph.
    public static let observers: [ValueForm.Member] = [
        .init("finish", .argumentVector, default: "none", "When all operations have finished."),
        .init(
            "failure", .argumentVector, default: "none",
            "When the first of its operations has failed, timed out or was interrupted."),
    ]

    private static let observersAbout = "Commands that run when the graph has finished, and at its first failure."

    private static let orderAbout =
        "Order of operations of equal priority; longestPath: the longest estimated path first."

    private static func properties(_ keys: [OperationKey]) -> String {
        keys.map { "        \"\($0.text)\": " + orNull($0.entry.form.schema, $0.entry.manual.about[0]) }
            .joined(separator: ",\n")
    }

    /// Returns the schema of a key that may also be null, which means that it is absent.
    private static func orNull(_ schema: String, _ about: String) -> String {
        let text = about.flatMap { $0 == "\\" || $0 == "\"" ? ["\\", $0] : [$0] }
        return #"{"description": "\#(String(text))", "anyOf": [\#(schema), {"type": "null"}]}"#
    }

    private static func hasValue(_ key: String) -> String {
        #"        {"required": ["\#(key)"], "properties": {"\#(key)": {"not": {"type": "null"}}}}"#
    }
}

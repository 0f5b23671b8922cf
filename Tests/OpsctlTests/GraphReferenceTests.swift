import Foundation
import OpsModel
import OpsWire
import Testing

@testable import opsctl

/// The reference of graph files is generated from the table of operation keys.
@Suite struct GraphReferenceTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test(arguments: [
        ("docs/man/opsd-graph.5", GraphReference.manualPage.text), ("docs/graph-files.md", GraphReference.markdown),
    ])
    func `the pages of graph files are those of the table`(path: String, text: String) throws {
        let file = Self.root.appendingPathComponent(path)
        if ProcessInfo.processInfo.environment["OPSD_RENEW_GOLDEN"] != nil {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == text, "\(path): OPSD_RENEW_GOLDEN=1 renews it")
    }

    @Test(arguments: OperationKey.allCases.filter { !$0.isOfFiles }) func `the example of each key is accepted`(
        key: OperationKey
    ) throws {
        var decoder = GraphDecoder(now: .zero)
        let command = [.command, .shell, .operations, .limit, .http].contains(key) ? "" : #", "command": ["true"]"#
        let group = key == .limit ? #", "operations": [{"command": ["true"]}]"# : ""
        let others =
            key == .after ? #", {"name": "compile", "command": ["a"]}, {"name": "test", "command": ["b"]}"# : ""
        decoder.add(Array("[{\(key.entry.manual.example)\(command)\(group)}\(others)]".utf8))
        #expect(throws: Never.self) { try decoder.finish() }
    }

    /// Members are checked against the type in their schema.
    @Test(arguments: OperationKey.allCases) func `the schema of each key accepts its example`(key: OperationKey) throws
    {
        let schema = try JSONSerialization.jsonObject(with: Data(key.entry.form.schema.utf8))
        let example = try JSONSerialization.jsonObject(with: Data("{\(key.entry.manual.example)}".utf8))
        let value = try #require((example as? [String: Any])?[key.text])
        #expect(accepts(try #require(schema as? [String: Any]), value), "\(key.entry.form.schema)")
    }

    @Test(
        arguments: [
            (.name, #""12""#), (.environment, #"{"A=B": "x"}"#), (.labels, #"{"": "x"}"#), (.secrets, #"{"A": {}}"#),
            (.output, "{}"), (.conditions, "[{}]"), (.conditions, #"[{"pathExists": "a", "loadBelow": 1}]"#),
            (.http, #"{"url": "ftp://h/f", "to": "f"}"#), (.umask, #""1000""#),
            (.retry, #"{"limit": 1, "exitCodes": []}"#),
        ] as [(OperationKey, String)])
    func `the schema of a key refuses what the decoder refuses`(key: OperationKey, value: String) throws {
        var decoder = GraphDecoder(now: .zero)
        let command = key == .http ? "" : #", "command": ["true"]"#
        decoder.add(Array("[{\"\(key.text)\": \(value)\(command)}]".utf8))
        #expect(throws: GraphRefusal.self) { try decoder.finish() }
        let schema = try JSONSerialization.jsonObject(with: Data(key.entry.form.schema.utf8)) as? [String: Any]
        let refused = try JSONSerialization.jsonObject(with: Data(value.utf8), options: .fragmentsAllowed)
        #expect(!accepts(try #require(schema), refused))
    }

    @Test(arguments: ["a b", "é", "a@b", "7a", "12", "g7", "", "a\tb"])
    func `the schema accepts the same names of graphs as the daemon does`(name: String) throws {
        let schema = try JSONSerialization.jsonObject(with: Data(GraphSchema.text.utf8)) as? [String: Any]
        let graph = (schema?["$defs"] as? [String: [String: Any]])?["graph"]?["properties"] as? [String: [String: Any]]
        let isAccepted = NameSyntax.complaint(aboutGraph: name) == nil
        #expect(accepts(try #require(graph?["name"]), name) == isAccepted)
    }

    @Test func `the schema of graph files has every key`() throws {
        let schema = try JSONSerialization.jsonObject(with: Data(GraphSchema.text.utf8))
        let definitions = (schema as? [String: Any])?["$defs"] as? [String: [String: Any]]
        let keys = definitions?["operation"]?["properties"] as? [String: Any]
        #expect(Set(try #require(keys).keys) == Set(OperationKey.texts))
    }

    @Test func `the schema accepts the same objects as single operations as opsctl does`() throws {
        let schema = try JSONSerialization.jsonObject(with: Data(GraphSchema.text.utf8)) as? [String: Any]
        let test = (schema?["else"] as? [String: Any])?["if"] as? [String: Any]
        let keys = (test?["anyOf"] as? [[String: [String]]])?.flatMap { $0["required"] ?? [] }
        #expect(keys == ["command", "shell", "http", "include"])
    }

    @Test func `the schema accepts a negation within a negation`() throws {
        let schema = try JSONSerialization.jsonObject(with: Data(GraphSchema.text.utf8)) as? [String: Any]
        let definitions = schema?["$defs"] as? [String: [String: Any]]
        let members = definitions?["test"]?["properties"] as? [String: [String: Any]]
        let reference = ##"{"$ref": "#/$defs/test"}"##
        #expect(members?["not"]?["$ref"] as? String == "#/$defs/test")
        #expect(members?["timeout"] != nil)
        #expect(OperationKey.conditions.entry.form.members.first { $0.name == "not" }?.form.schema == reference)
    }

    /// Checks a value against the parts of JSON Schema that the table uses.
    private func accepts(_ schema: [String: Any], _ value: Any) -> Bool {
        if let forms = schema["anyOf"] as? [[String: Any]] { return forms.contains { accepts($0, value) } }
        if let words = schema["enum"] as? [String] { return (value as? String).map(words.contains) ?? false }
        if schema["$ref"] != nil { return value is [String: Any] }
        let types = schema["type"] as? [String] ?? [schema["type"] as? String ?? ""]
        switch value {
        case let text as String:
            guard types.contains("string") else { return false }
            let pattern = schema["pattern"] as? String ?? "^"
            return text.range(of: pattern, options: .regularExpression) != nil
        case let list as [Any]:
            let items = schema["items"] as? [String: Any] ?? [:]
            guard types.contains("array"), list.count >= schema["minItems"] as? Int ?? 0 else { return false }
            return list.allSatisfy { accepts(items, $0) }
        case let object as [String: Any]:
            guard types.contains("object"), object.count >= schema["minProperties"] as? Int ?? 0 else { return false }
            let alternatives = (schema["oneOf"] as? [[String: [String]]])?.flatMap { $0["required"] ?? [] }
            if let alternatives, alternatives.count(where: { object[$0] != nil }) != 1 { return false }
            let names = (schema["propertyNames"] as? [String: String])?["pattern"] ?? "^"
            let hasNames = object.keys.allSatisfy { $0.range(of: names, options: .regularExpression) != nil }
            guard hasNames else { return false }
            let properties = schema["properties"] as? [String: [String: Any]]
            let others = schema["additionalProperties"] as? [String: Any]
            let required = schema["required"] as? [String] ?? []
            return required.allSatisfy { object[$0] != nil }
                && object.allSatisfy { name, value in
                    (properties?[name] ?? others).map { accepts($0, value) } ?? false
                }
        default: return !Set(types).isDisjoint(with: ["number", "integer", "boolean"])
        }
    }

    @Test func `every option of a key has one name`() {
        let options = OperationKey.allCases.flatMap(\.entry.options)
        let names = options.map(\.name) + options.compactMap(\.alias)
        #expect(Set(names).count == names.count, "\(names.filter { name in names.count { $0 == name } > 1 })")
    }
}

internal import OpsModel

/// `schema`: prints the JSON Schema of graph files, for completion and checks in editors.
enum SchemaVerb {
    static let verb = Verb(
        "schema", .keeping, "print the JSON Schema of graph files", forms: [""],
        about: [
            "Editors complete and check graph files with it, in YAML too."
        ],
        examples: [.init("Keep it where an editor finds it", "opsctl schema > /tmp/opsd-graph.schema.json")],
        action: { (session) throws(Failure) in
            let text = session.wantsJSON ? compact(GraphSchema.text) : GraphSchema.text
            try session.output.write(Array(text.utf8))
            return .done
        })

    /// Returns indented JSON as one line. No text within it contains a line break.
    private static func compact(_ text: String) -> String {
        text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined() + "\n"
    }
}

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
            try session.output.write(Array(GraphSchema.text.utf8))
            return .done
        })
}

internal import OpsCore
internal import OpsWire

/// Refuses a text of a client that is longer than its limit.
func requireRoom(for text: String?, of what: String, atMost limit: Int) throws(ControlError) {
    if let text, text.utf8.count > limit { throw .tooLarge(what: what, limit: limit) }
}

extension SubmissionOptions {
    /// Checks the lengths of texts. Operations are checked where they are read.
    func checkBounds() throws(ControlError) {
        try requireRoom(for: name, of: "the name of a graph", atMost: Limits.nameBytes)
        if let name, let complaint = NameSyntax.complaint(aboutGraph: name) {
            throw .invalidOperation([.with { $0.message = "the name of the graph \(complaint)" }])
        }
        try requireRoom(for: key, of: "a key", atMost: Limits.keyBytes)
        try requireRoom(for: unlessActive, of: "a key", atMost: Limits.keyBytes)
        if let orderText, order == nil {
            throw Self.refusal("order", "must be submission or longestPath, not \"\(orderText.prefix(100))\"")
        }
        guard let capture else { return }
        try requireRoom(for: capture.directory, of: "the captured directory", atMost: Limits.pathBytes)
        guard capture.directory.hasPrefix("/"), !capture.directory.utf8.contains(0) else {
            throw Self.refusal("capture.directory", "must be an absolute path without NUL")
        }
        guard 0...0o777 ~= capture.umask else {
            throw Self.refusal("capture.umask", "must be 0 to 511 (octal 777), not \(capture.umask)")
        }
        let variables = capture.environment.entries
        for variable in variables {
            guard let complaint = NameSyntax.complaint(aboutVariable: variable.name, value: variable.value) else {
                continue
            }
            throw Self.refusal("capture.environment", "\"\(variable.name.prefix(100))\": \(complaint)")
        }
        let bytes = variables.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 }
        if bytes > Limits.environmentBytes {
            throw .tooLarge(what: "the captured environment", limit: Limits.environmentBytes)
        }
        if variables.count > Limits.environmentVariables {
            throw .tooLarge(what: "the number of captured variables", limit: Limits.environmentVariables)
        }
    }

    private static func refusal(_ key: String, _ message: String) -> ControlError {
        .invalidOperation([
            .with {
                $0.key = key
                $0.message = message
            }
        ])
    }
}

extension OpsWire.Selection {
    func checkBounds() throws(ControlError) {
        if refs?.count ?? 0 > Limits.references {
            throw .tooLarge(what: "the number of references", limit: Limits.references)
        }
        if labels?.entries.count ?? 0 > Limits.labels {
            throw .tooLarge(what: "the number of labels", limit: Limits.labels)
        }
    }
}

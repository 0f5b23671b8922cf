internal import OpsCore
internal import OpsStore

// Texts that name operations and graphs for people and clients.

extension GraphID {
    /// `g7`.
    var reference: String { "g\(rawValue)" }

    /// Parses a reference to a graph: `g7` or `7`.
    init?(reference: String) {
        guard let number = Int64(reference.hasPrefix("g") ? reference.dropFirst() : reference[...]) else { return nil }
        self.init(number)
    }
}

extension Turns {
    /// `12 (build)`, or the number alone where there is no name.
    func label(_ id: OperationID) -> String {
        // A label is for people. Without the database the number is used.
        guard let name = (try? history.names(of: [id]))?[id] else { return "\(id.rawValue)" }
        return "\(id.rawValue) (\(name))"
    }
}

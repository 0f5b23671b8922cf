internal import OpsWire

/// Environment variables that opsd and its runner set. A submission may not set them: the first of two is what getenv(3)
/// finds, the last is what a shell keeps.
enum ReservedVariables {
    /// Returns true if opsd sets the variable, now or in a later release. `OPS_INDEX` is set by `opsctl submit
    /// --array`.
    static func contains(_ name: String) -> Bool {
        name == "NOTIFY_SOCKET" || name == "TRACEPARENT" || name.utf8.starts(with: "OPS_".utf8) && name != "OPS_INDEX"
    }
}

extension StringMap {
    /// Removes the variables that opsd sets, and those that are none.
    mutating func removeReservedVariables() {
        entries.removeAll {
            ReservedVariables.contains($0.name) || NameSyntax.complaint(aboutVariable: $0.name, value: $0.value) != nil
        }
    }
}

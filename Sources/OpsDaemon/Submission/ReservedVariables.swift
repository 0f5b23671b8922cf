internal import OpsWire

/// Environment variables that opsd and its runner set. A submission may not set them: of two variables with one name,
/// getenv(3) finds the first and a shell keeps the last.
enum ReservedVariables {
    /// Returns true if opsd sets the variable, now or in a later release. `OPS_INDEX` is set by `opsctl submit
    /// --array`.
    static func contains(_ name: String) -> Bool {
        name == "NOTIFY_SOCKET" || name == "TRACEPARENT" || name.utf8.starts(with: "OPS_".utf8) && name != "OPS_INDEX"
    }
}

/// Names of variables that a shell can use.
enum VariableSyntax {
    static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, bytes.count <= Limits.nameBytes else { return false }
        func isLetter(_ byte: UInt8) -> Bool { byte == 0x5f || 0x41...0x5a ~= byte || 0x61...0x7a ~= byte }
        return isLetter(first) && bytes.allSatisfy { isLetter($0) || 0x30...0x39 ~= $0 }
    }
}

extension ReservedVariables {
    /// Variables of the runs of schedules, which are stored with their environment.
    static let scheduledAt = "OPS_SCHEDULED_AT"
    static let scheduledBefore = "OPS_SCHEDULED_BEFORE"
    static let triggerFile = "OPS_TRIGGER_FILE"
    static let triggerEvent = "OPS_TRIGGER_EVENT"
    static let stored: Set<String> = [scheduledAt, scheduledBefore, triggerFile, triggerEvent]
}

extension StringMap {
    /// Removes the variables that opsd sets, and invalid entries.
    /// - Parameter keepsStored: Keeps those that opsd stores with a submission.
    mutating func removeReservedVariables(keepsStored: Bool = false) {
        entries.removeAll {
            if keepsStored, ReservedVariables.stored.contains($0.name) { return false }
            return ReservedVariables.contains($0.name)
                || NameSyntax.complaint(aboutVariable: $0.name, value: $0.value) != nil
        }
    }
}

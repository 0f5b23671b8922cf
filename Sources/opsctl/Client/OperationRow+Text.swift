internal import OpsWire

extension OperationRow {
    var standing: Standing {
        Standing(
            state: state, outcome: outcome, notNeeded: notNeeded, isCancelling: cancelling, isFrozen: frozen,
            isHeld: held,
            isScheduled: startsAhead != nil)
    }

    /// True if it finished without success although its success was needed.
    var isUnsuccessful: Bool { state == .finished && outcome != .succeeded && !notNeeded }

    /// Name of the operation, or its command if it has no name.
    var title: String {
        (name ?? command.map(Self.shown) ?? (isGroup ? "(group)" : "")).printable
    }

    /// The labels as `submit` takes them.
    var labelText: String { labels.entries.map { "\($0.name)=\($0.value)" }.joined(separator: " ") }

    /// Returns a command as it would be typed. For a text that the shell runs, only the text is shown.
    static func shown(_ command: [String]) -> String {
        if command.count == 3, command[0] == "/bin/sh", command[1] == "-c" { return command[2] }
        return command.map(ShellWord.typed).joined(separator: " ")
    }

    /// Time that its last attempt has run, or that it has waited for one.
    func age(now: Instant) -> Span? {
        guard let start = startedAt.instant ?? submittedAt.instant else { return nil }
        // At the end of an attempt that another one follows, the operation becomes ready again. `readyAt` then is the
        // end of that attempt.
        if startedAt != nil, !isGroup, outcome != .succeeded, let again = readyAt.instant, again > start {
            return state == .finished ? again - start : now - again
        }
        return (finishedAt.instant ?? now) - start
    }

    /// Returns whether an attempt has started. An attempt of an executor first waits in its engine: until it starts
    /// there, the operation has the start of an earlier attempt, or none.
    func hasStarted(_ attempt: AttemptRow) -> Bool {
        guard attempt.attempt == self.attempt, attempt.run == run else { return true }
        guard let start = startedAt.instant else { return false }
        return attempt.startedAt.instant.map { $0 <= start } ?? true
    }

    /// Instant before which it does not start; nil for none.
    var startsAhead: Instant? {
        guard state == .ready, !held, let instant = notBefore.instant, instant > .now else { return nil }
        return instant
    }

    /// Cause, status text, or start time of the operation. The status text of a success is out of date.
    var remark: String {
        if let start = startsAhead { return "starts \(start.text(now: .now))" }
        if outcome == .succeeded { return (cause ?? "").printable }
        return (cause ?? statusText ?? "").printable
    }
}

extension String {
    var instant: Instant? { Instant.rfc3339(self) }
}

extension String? {
    var instant: Instant? { flatMap { $0.instant } }
}

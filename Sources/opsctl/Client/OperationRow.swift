internal import OpsWire

/// What lists and pictures show of an operation.
struct OperationRow {
    var id = 0
    var name: String?
    var graph = ""
    var graphName: String?
    var queue = ""
    var state = ""
    var outcome: String?
    var cause: String?
    var command: [String] = []
    var priority = 0
    var effectivePriority = 0
    var attempt = 0
    var exitCode: Int?
    var signal: Int?
    var isCancelling = false
    var isFrozen = false
    var isHeld = false
    var isGroup = false
    var group: Int?
    var user = ""
    var labels: [Pair] = []
    var progress: (done: Int, total: Int?)?
    var statusText: String?
    var submittedAt: Instant?
    var readyAt: Instant?
    var startedAt: Instant?
    var finishedAt: Instant?

    /// Reads the object once, whatever the order of its keys.
    init(_ view: JSONView) {
        for (key, value) in view.members where !value.isNull {
            switch key {
            case "id": id = value.integer ?? 0
            case "name": name = value.text
            case "graph": graph = value.text ?? ""
            case "graphName": graphName = value.text
            case "queue": queue = value.text ?? ""
            case "state": state = value.text ?? ""
            case "outcome": outcome = value.text
            case "cause": cause = value.text
            case "command": command = value.elements.compactMap(\.text)
            case "priority": priority = value.integer ?? 0
            case "effectivePriority": effectivePriority = value.integer ?? 0
            case "attempt": attempt = value.integer ?? 0
            case "exitCode": exitCode = value.integer
            case "signal": signal = value.integer
            case "cancelling": isCancelling = value.flag
            case "frozen": isFrozen = value.flag
            case "held": isHeld = value.flag
            case "isGroup": isGroup = value.flag
            case "group": group = value.integer
            case "user": user = value.text ?? ""
            case "labels": labels = value.members.compactMap { Pair("\($0.key)=\($0.value.text ?? "")") }
            case "progress": progress = value["done"]?.integer.map { ($0, value["total"]?.integer) }
            case "statusText": statusText = value.text
            case "submittedAt": submittedAt = value.instant
            case "readyAt": readyAt = value.instant
            case "startedAt": startedAt = value.instant
            case "finishedAt": finishedAt = value.instant
            default: continue
            }
        }
    }

    var standing: Standing {
        Standing(state: state, outcome: outcome, isCancelling: isCancelling, isFrozen: isFrozen, isHeld: isHeld)
    }

    /// The name, else the command, for people.
    var title: String {
        (name ?? (command.isEmpty ? isGroup ? "(group)" : "" : Self.shown(command))).printable
    }

    /// A command as it would be typed; what the shell runs without the shell.
    static func shown(_ command: [String]) -> String {
        if command.count == 3, command[0] == "/bin/sh", command[1] == "-c" { return command[2] }
        return command.map { word in
            let isPlain =
                !word.isEmpty
                && word.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
                    default: "_-./:=,+@%".utf8.contains(byte)
                    }
                }
            return isPlain
                ? word
                : "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        }.joined(separator: " ")
    }

    /// How long it has run, or has waited.
    func age(now: Instant) -> Span? {
        if let startedAt { return (finishedAt ?? now) - startedAt }
        guard let submittedAt else { return nil }
        return (finishedAt ?? now) - submittedAt
    }

    /// What there is to say about it in a word or a sentence.
    var remark: String {
        (cause ?? statusText ?? "").printable
    }
}

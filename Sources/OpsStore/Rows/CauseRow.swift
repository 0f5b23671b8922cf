internal import OpsCore

/// A `Cause` as its columns: a kind, two numbers and two texts. The numbers of the kinds are on disk: append only.
struct CauseRow: Equatable {
    var kind: Int64
    var number: Int64?
    var other: Int64?
    var text: String?
    var note: String?

    /// The columns in the order in which `bind` and `read` count them.
    static let names = ["causeKind", "causeNumber", "causeOther", "causeText", "causeNote"]
    static let columns = names.joined(separator: ", ")

    func bind(to statement: Statement, from first: Int32) {
        statement.bind(first, kind)
        statement.bind(first + 1, number)
        statement.bind(first + 2, other)
        statement.bind(first + 3, text)
        statement.bind(first + 4, note)
    }

    static func read(_ statement: Statement, from first: Int32) -> CauseRow {
        CauseRow(
            kind: statement.int(first), number: statement.optionalInt(first + 1),
            other: statement.optionalInt(first + 2), text: statement.optionalText(first + 3),
            note: statement.optionalText(first + 4))
    }
}

extension CauseRow {
    init(_ cause: Cause) {
        switch cause {
        case .exitStatus(let status): self.init(1, Int64(status))
        case .signal(let signal): self.init(2, Int64(signal))
        case .outOfMemory: self.init(3)
        case .cannotStart(let step, let errno): self.init(4, Int64(errno), text: step)
        case .ranLongerThan(let time): self.init(5, time.nanoseconds)
        case .deadlinePassed: self.init(6)
        case .cancelledBy(let user, let reason): self.init(7, text: user, note: reason)
        case .groupCancelled(let group): self.init(8, group.rawValue)
        case .groupTimedOut(let group): self.init(9, group.rawValue)
        case .dependency(let root, let outcome): self.init(10, root.rawValue, Int64(outcome.rawValue))
        case .neverStarted(let root): self.init(11, root.rawValue)
        case .conditionFalse(let index, let detail): self.init(12, Int64(index), text: detail)
        case .children(let first, let count): self.init(13, first.rawValue, Int64(count))
        case .groupSkipped(let group, let root):
            self.init(
                14, group.rawValue, root.map { Int64($0.outcome.rawValue) },
                note: root.map { "\($0.operation.rawValue)" })
        case .runnerLost: self.init(15)
        case .machineRestarted: self.init(16)
        case .abandoned(let user, let reason): self.init(17, text: user, note: reason)
        case .finishedBy(let user, let message): self.init(18, text: user, note: message)
        case .reported(let status): self.init(19, Int64(status))
        case .refused(let text): self.init(20, text: text)
        case .engine(let text): self.init(21, text: text)
        case .upToDate: self.init(22)
        case .providedFor(let other, let outcome): self.init(23, other.rawValue, Int64(outcome.rawValue))
        }
    }

    private init(_ kind: Int64, _ number: Int64? = nil, _ other: Int64? = nil, text: String? = nil, note: String? = nil)
    {
        self.init(kind: kind, number: number, other: other, text: text, note: note)
    }

    /// Root cause of a skipped group: the row has its outcome beside the group, and its id as text.
    private var root: Cause.Root? {
        guard let outcome = Outcome(stored: other), let id = note.flatMap({ Int64($0) }) else { return nil }
        return Cause.Root(OperationID(id), outcome)
    }

    /// The cause; nil for columns that no version of opsd writes.
    var cause: Cause? {
        let number = number ?? 0
        let operation = OperationID(number)
        let small = Int32(clamping: number)
        switch kind {
        case 1: return .exitStatus(small)
        case 2: return .signal(small)
        case 3: return .outOfMemory
        case 4: return .cannotStart(step: text ?? "", errno: small)
        case 5: return .ranLongerThan(.nanoseconds(number))
        case 6: return .deadlinePassed
        case 7: return .cancelledBy(text ?? "", reason: note)
        case 8: return .groupCancelled(operation)
        case 9: return .groupTimedOut(operation)
        case 10: return Outcome(stored: other).map { .dependency(root: operation, $0) }
        case 11: return .neverStarted(root: operation)
        case 12: return .conditionFalse(index: small, detail: text ?? "")
        case 13: return .children(first: operation, count: Int32(clamping: other ?? 0))
        case 14: return .groupSkipped(operation, because: root)
        case 15: return .runnerLost
        case 16: return .machineRestarted
        case 17: return .abandoned(by: text ?? "", reason: note)
        case 18: return .finishedBy(text ?? "", message: note)
        case 19: return .reported(status: small)
        case 20: return .refused(text ?? "")
        case 21: return .engine(text ?? "")
        case 22: return .upToDate
        case 23: return Outcome(stored: other).map { .providedFor(operation, $0) }
        default: return nil
        }
    }
}

internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Looks up references, a few at a time, in order.
struct ReferencesQuery: Query {
    typealias Found = Result<OperationID, ControlError>

    private let references: [String]
    private let caller: Caller
    /// Graph in which a name without a graph is looked up.
    private let graph: GraphID?
    /// Number of unknown references after which no more are looked up: the search for a name like an unknown one costs as
    /// much as a thousand that are known.
    private let mostUnknown: Int
    private var found: [Found] = []
    private var unknown = 0

    private static let step = 20

    var heldBytes: Int { found.count * MemoryLayout<Found>.stride }

    init(_ references: [String], of caller: Caller, in graph: GraphID? = nil, mostUnknown: Int = 1) {
        self.references = references
        self.caller = caller
        self.graph = graph
        self.mostUnknown = mostUnknown
    }

    mutating func proceed(_ history: History) throws -> [Found]? {
        let selections = Selections(history, for: caller)
        for reference in references[found.count...].prefix(Self.step) {
            do {
                found.append(.success(try selections.operation(reference, inOrOutside: graph)))
            } catch let error as ControlError {
                found.append(.failure(error))
                unknown += 1
                if unknown >= mostUnknown { return found }
            }
        }
        return found.count == references.count ? found : nil
    }
}

/// Reads what a submission needs from the store: an earlier one with the same key, and the operations that it names.
struct SubmissionQuery: Query {
    struct Answer: Sendable {
        var earlier: KeyedSubmission?
        /// Names of the operations of `earlier`, if the client wants them.
        var names: [OperationID: String] = [:]
        /// The references that were looked up.
        var targets: [ReferencesQuery.Found] = []
        /// Outcomes of the targets that had finished.
        var finished: [OperationID: FinishedFact] = [:]
        /// Milliseconds that each operation takes by itself; nil: the order of submission needs no estimates.
        var estimates: [Int64]?
    }

    /// `isActive`: only an earlier submission that has not finished counts.
    typealias Key = (text: String, isActive: Bool)

    private let keys: [Key]
    private let user: UInt32
    private let wantsNames: Bool
    private var references: ReferencesQuery
    private var estimates: EstimatesQuery?
    private var answer = Answer()
    private var step = Step.key
    private var count = 0

    var heldBytes: Int {
        references.heldBytes + (estimates?.heldBytes ?? 0) + answer.names.count * 2 * 32
            + answer.finished.count * 2 * (MemoryLayout<FinishedFact>.stride + 8)
    }

    private enum Step { case key, names, targets, facts, estimates }
    private static let rows = 500

    init(keys: [Key], of user: UInt32, wantsNames: Bool, _ references: ReferencesQuery, _ estimates: EstimatesQuery?) {
        self.estimates = estimates
        self.keys = keys
        self.user = user
        self.wantsNames = wantsNames
        self.references = references
    }

    mutating func proceed(_ history: History) throws -> Answer? {
        switch step {
        case .key:
            answer.earlier = try earlier(history)
            step = answer.earlier == nil ? .targets : .names
        case .names: return try readNames(history)
        case .targets:
            guard let found = try references.proceed(history) else { return nil }
            answer.targets = found
            step = .facts
        case .facts: try readFacts(history)
        case .estimates:
            guard estimates != nil else { return answer }
            answer.estimates = try estimates?.proceed(history)
            return answer.estimates == nil ? nil : answer
        }
        return nil
    }

    private func earlier(_ history: History) throws -> KeyedSubmission? {
        for key in keys {
            if let earlier = try history.submission(key: key.text, uid: user), !key.isActive || earlier.isUnfinished {
                return earlier
            }
        }
        return nil
    }

    private mutating func readNames(_ history: History) throws -> Answer? {
        guard let earlier = answer.earlier, wantsNames, count < earlier.count else { return answer }
        let next = (count..<min(count + Self.rows, earlier.count)).map {
            OperationID(earlier.first.rawValue + Int64($0))
        }
        count += next.count
        answer.names.merge(try history.names(of: next)) { $1 }
        return nil
    }

    private mutating func readFacts(_ history: History) throws {
        guard count < answer.targets.count else {
            step = .estimates
            return
        }
        let next = answer.targets[count...].prefix(Self.rows)
        count += next.count
        let ids = next.compactMap { target in if case .success(let id) = target { id } else { nil } }
        answer.finished.merge(try history.finishedFacts(ids)) { $1 }
    }
}

import OpsCore
import OpsStore
import TestSupport

/// Builds turns by hand, one statement for each step of a test, with the numbers that the core would assign.
class TurnBuilder {
    var turn = Transition()
    var submissions: [SubmissionTexts] = []
    var nextOperation: Int64 = 1
    var nextGraph: Int64 = 1
    var sequence: Int64 = 0
    var now = WallInstant.zero + .seconds(1_700_000_000)

    var moment: Moment { Moment(monotonic: .zero + (now - .zero - .seconds(1_699_000_000)), wall: now) }

    /// Adds a submission to the turn; its operations are ready unless they have an edge or a group.
    @discardableResult
    func submit(_ texts: SubmissionTexts) -> OperationID {
        let first = OperationID(nextOperation)
        let id = GraphID(nextGraph)
        nextGraph += 1
        nextOperation += Int64(texts.submission.operations.count)
        let waiting = Set(texts.submission.edges.map(\.from))
        let states = texts.submission.operations.indices.map { place -> OperationState in
            let isInside = texts.submission.operations[place].group != nil
            return waiting.contains(Int32(place)) || isInside ? .pending : .ready
        }
        turn.changes.append(
            .submitted(
                submission: submissions.count, graph: id, isNewGraph: true, firstOperation: first,
                states: states, parent: nil, producer: nil))
        for place in states.indices {
            let operation = OperationID(first.rawValue + Int64(place))
            report(.submitted, operation, graph: id, new: states[place])
        }
        submissions.append(texts)
        return first
    }

    func change(_ changes: Change...) { turn.changes += changes }

    func report(
        _ kind: Report.Kind, _ operation: OperationID? = nil, graph: GraphID? = nil, new: OperationState? = nil
    ) {
        sequence += 1
        turn.reports.append(
            Report(sequence: sequence, kind: kind, operation: operation, graph: graph, new: new, at: now))
    }

    func start(_ id: OperationID, attempt: Int32 = 1, slot: Int32 = 0) {
        change(.started(id, attempt: attempt, run: 1, slot: slot, runner: "runner-1", at: moment))
    }

    func end(_ id: OperationID, code: Int32 = 0) {
        let attempt = AttemptID(id, 1)
        let outcome: Outcome = code == 0 ? .succeeded : .failed
        change(
            .exited(attempt, ProcessExit(status: .code(code), at: moment)),
            .attemptEnded(attempt, outcome, .exitStatus(code), at: now),
            .finished(id, outcome, code == 0 ? nil : .exitStatus(code), at: now))
    }
}

/// A store in a directory of its own, and the turns for it.
final class World: TurnBuilder {
    let directory = TemporaryDirectory(inMemory: true)
    private var opened: Store?

    init(boot: String = "boot-1") throws {
        super.init()
        try reopen(boot: boot)
    }

    var store: Store {
        guard let opened else { fatalError("the store is closed") }
        return opened
    }

    func history() throws -> History { try History.open(path: store.path) }

    func commit() throws {
        defer {
            turn = Transition()
            submissions = []
        }
        try store.commit(turn, submissions: submissions)
        now += .seconds(1)
    }

    /// Ends the daemon and starts it again.
    func reopen(boot: String = "boot-1") throws {
        // The first store must be closed before the lock can be taken again.
        opened = nil
        opened = try Store.open(directory: directory.path, boot: boot)
    }
}

/// Returns the submission of one command.
func one(_ command: String, environment: String = "{}") -> SubmissionTexts {
    var submission = Submission()
    submission.operations = [Draft()]
    return SubmissionTexts(submission, environments: [environment], particulars: [.init(command: command)])
}

/// Lets an operation start and succeed.
func finish(_ world: World, _ id: OperationID) {
    world.start(id)
    world.end(id)
}

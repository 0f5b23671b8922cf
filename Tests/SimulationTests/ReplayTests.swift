import OpsCore
import OpsTesting
import Testing

@testable import OpsRecord

@Suite struct ReplayTests {
    @Test func `a replay of a history gives the same answers`() throws {
        for seed in seedsInTests.prefix(30) {
            var simulation = Simulation<ReplayedScheduler>(seed: seed)
            try simulation.run()
        }
    }
}

/// A scheduler whose turns are encoded, decoded and repeated by a second one. Sometimes the second one is created again
/// from the encoded state of the first.
private struct ReplayedScheduler: TestedScheduler {
    private var scheduler: Scheduler
    private var replay: Replay
    private let encoder = RecordEncoder()
    private let decoder = RecordDecoder()
    private var inputs: [TurnInput] = []
    private var results: [Result<Acceptance, Rejection>] = []
    private var turns: Int64 = 0
    private var difference: String?

    init(_ snapshot: Snapshot, workers: Int32, at now: Moment) {
        scheduler = Scheduler(snapshot, workers: workers, at: now)
        replay = Replay(.stored(snapshot, workers: workers, at: now))
        noteErrors { this in
            this.replay = Replay(try this.copy(RecordBeginning.stored(snapshot, workers: workers, at: now)))
        }
    }

    mutating func handle(_ event: Event, at now: Moment) -> Result<Acceptance, Rejection> {
        let result = scheduler.handle(event, at: now)
        inputs.append(TurnInput(event, at: now))
        results.append(result)
        return result
    }

    mutating func endTurn(at now: Moment, upTo limit: Int) -> Transition {
        turns += 1
        let transition = scheduler.endTurn(at: now, upTo: limit)
        let turn = CompletedTurn(
            inputs: inputs, results: results, end: .ended(at: now, upTo: limit), transition: transition)
        inputs = []
        results = []
        noteErrors { this in
            let recorded = RecordedTurn(
                number: this.turns, inputs: turn.inputs, end: turn.end, digest: try TurnDigest(turn))
            if let found = try this.replay.repeat(try this.copy(recorded)) { this.difference = found.description }
            if this.turns.isMultiple(of: 5) {
                this.replay = Replay(try this.copy(RecordBeginning.running(this.scheduler)))
            }
        }
        return transition
    }

    var comparable: Scheduler? { scheduler }
    func brokenInvariant() -> String? { difference ?? scheduler.checkInvariants().first }

    var hasPutOff: Bool { scheduler.hasPutOff }
    var stagedCount: Int { scheduler.stagedCount }
    func mustRevokeStaged(at now: Moment) -> Bool { scheduler.mustRevokeStaged(at: now) }
    var nextDeadline: Deadlines { scheduler.nextDeadline }
    func why(_ operation: OperationID, at now: Moment) -> [Reason] { scheduler.why(operation, at: now) }

    private func copy<Value: Codable>(_ value: Value) throws -> Value {
        try decoder.decode(Value.self, from: try encoder.encode(value))
    }

    private mutating func noteErrors(_ body: (inout ReplayedScheduler) throws -> Void) {
        do { try body(&self) } catch { difference = "\(error)" }
    }
}

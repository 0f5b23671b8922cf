internal import OpsCore
internal import OpsSystem
internal import OpsWire

/// Answers what an operation would wait for after some events. They are handled by a copy of the scheduler, which is a
/// value, so nothing changes.
struct WhatIf {
    let turns: Turns
    /// Operations by the references that the words contain.
    let found: [String: OperationID]

    /// Returns the events that the words stand for: `cancel 7`, `finish 7`, `fail 7`, `resume [7]`, `suspend [7]`,
    /// `workers 4`, `limit QUEUE 4`, `capacity CATEGORY 3`, `priority 7 50`, several with `;` between.
    func events(_ words: String) throws -> [Event] {
        try Self.sentences(words).map { try event($0.verb, $0.rest) }
    }

    private static func sentences(_ words: String) -> [(verb: String, rest: [String])] {
        words.split(separator: ";").compactMap { sentence in
            let parts = sentence.split(separator: " ").map(String.init)
            return parts.first.map { ($0, Array(parts.dropFirst())) }
        }
    }

    /// Returns the references to operations in the words, each once.
    static func references(_ words: String) -> [String] {
        let all = sentences(words).flatMap { sentence in
            switch sentence.verb {
            case "cancel", "resume", "suspend": sentence.rest
            case "finish", "fail", "priority": Array(sentence.rest.prefix(1))
            default: [String]()
            }
        }
        return Set(all).sorted()
    }

    /// A copy of the scheduler after the events, and the outcome that they gave an operation, if any.
    struct Answer {
        let core: Scheduler
        let outcome: Outcome?
    }

    /// Returns a copy of the scheduler after these events, with the outcome of one operation.
    static func simulate(
        _ events: [Event], _ core: consuming Scheduler, for id: OperationID
    ) throws(Rejection) -> Answer {
        var outcome: Outcome?
        for event in events {
            let now = Moment.now()
            // The event before may have staged launches in the copy.
            _ = core.handle(.stagingRevoked(started: 0), at: now)
            if case .failure(let rejection) = core.handle(event, at: now) { throw rejection }
            outcome = simulateOutcome(event, &core, now, for: id) ?? outcome
        }
        return Answer(core: core, outcome: outcome)
    }

    private func event(_ verb: String, _ rest: [String]) throws -> Event {
        switch (verb, rest.count) {
        case ("cancel", 1...): .cancel(try operations(rest), by: "you", reason: nil, force: false)
        case ("finish", 1), ("fail", 1): try finish(rest[0], failed: verb == "fail")
        case ("resume", 0): .resume(.daemon)
        case ("suspend", 0): .suspend(.daemon, freeze: false)
        case ("resume", _): .resume(.operations(try operations(rest)))
        case ("suspend", _): .suspend(.operations(try operations(rest)), freeze: true)
        case ("workers", 1): .setWorkers(try number(rest[0]))
        case ("limit", 2):
            .setQueue(
                rest[0], QueueEdit(limit: rest[1] == "none" ? .clear : .set(try number(rest[1])), target: .existing))
        case ("capacity", 2): .setCategory(rest[0], capacity: try number(rest[1]))
        case ("priority", 2):
            .edit(try operations([rest[0]]), Edit(priority: Int8(try number(rest[1], from: -100, to: 100))))
        default:
            throw refusal(
                "unknown change \"\(([verb] + rest).joined(separator: " "))\"; use cancel ID, finish ID, fail ID, "
                    + "resume [ID], suspend [ID], workers N, limit QUEUE N, capacity CATEGORY N, priority ID N")
        }
    }

    private func operations(_ refs: [String]) throws -> [OperationID] { try refs.map(operation) }

    private func operation(_ ref: String) throws(ControlError) -> OperationID {
        guard let id = found[ref] else { throw .notFound(kind: "operation", name: ref, nearest: nil) }
        return id
    }

    private func number(_ text: String, from least: Int32 = 0, to most: Int32 = .max) throws -> Int32 {
        guard let number = Int32(text), number >= least, number <= most else {
            throw refusal("\"\(text)\" is not a number from \(least) to \(most)")
        }
        return number
    }

    private func refusal(_ message: String) -> ControlError {
        .invalidOperation([
            .with {
                $0.key = "whatIf"
                $0.message = message
            }
        ])
    }

    /// Returns the event by which the process of an executing operation ends.
    private func finish(_ ref: String, failed: Bool) throws -> Event {
        let id = try operation(ref)
        guard let executing = turns.core?.executing.first(where: { $0.id == id }), executing.attempt > 0 else {
            throw Rejection.notExecuting(id)
        }
        let exit = ProcessExit(status: .code(failed ? 1 : 0), at: .now())
        return .exited(AttemptID(id, executing.attempt), exit, treeIsGone: true)
    }

    /// Reports the ends of all attempts that the event has terminated, and lets the rules decide. Returns the outcome
    /// that an operation gets.
    private static func simulateOutcome(
        _ event: Event, _ core: inout Scheduler, _ now: Moment, for id: OperationID
    ) -> Outcome? {
        let turn = core.endTurn(at: now)
        for command in turn.effects {
            guard case .terminate(let attempt, _) = command else { continue }
            let exit = ProcessExit(status: .signal(Signals.terminate), at: now)
            _ = core.handle(.exited(attempt, exit, treeIsGone: true), at: now)
        }
        return outcome(of: id, in: core.endTurn(at: now)) ?? outcome(of: id, in: turn)
    }

    private static func outcome(of id: OperationID, in turn: Transition) -> Outcome? {
        for case .finished(id, let outcome, _, at: _) in turn.changes { return outcome }
        return nil
    }
}

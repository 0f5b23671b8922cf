import Glibc
import OpsCore
import OpsRecord
import TestSupport
import Testing

@Suite struct RecordFileTests {
    /// Turns of a small scheduler, and its state before them.
    private struct Session {
        var beginning: RecordBeginning
        var turns: [CompletedTurn] = []
        private var scheduler: Scheduler
        private var now = Moment(monotonic: .zero + .seconds(1), wall: .zero + .seconds(1_700_000_000))

        init(_ events: [[Event]]) {
            beginning = .stored(Snapshot(), workers: 2, at: now)
            scheduler = beginning.scheduler
            for events in events { turn(events) }
        }

        private mutating func turn(_ events: [Event]) {
            now += .milliseconds(1)
            let inputs = events.map { TurnInput($0, at: now) }
            let results = events.map { scheduler.handle($0, at: now) }
            turns.append(
                CompletedTurn(
                    inputs: inputs, results: results, end: .ended(at: now, upTo: .max),
                    transition: scheduler.endTurn(at: now)))
        }

        /// Returns the bytes of a record, and the length of each prefix that consists of whole frames.
        func bytes() throws -> (all: [UInt8], whole: [Int]) {
            let file = RecordFile()
            var bytes = RecordFile.header(release: "0.0.1")
            bytes += try file.frame(beginning)
            var whole = [bytes.count]
            for (offset, turn) in turns.enumerated() {
                bytes += try file.frame(turn, number: Int64(offset) + 1)
                whole.append(bytes.count)
            }
            return (bytes, whole)
        }
    }

    private static var submission: Submission {
        var submission = Submission()
        submission.operations = [Draft(), Draft(), Draft(flags: .held)]
        submission.edges = [DraftEdge(from: 1, on: .local(0))]
        return submission
    }

    private let session = Session([
        [.runnerConnected(Inventory(runner: "r", boot: "b"))], [.submit(submission), .removeQueue("no such queue")],
        [.cancel([OperationID(1)], by: "me", reason: nil, force: false)], [.gone(AttemptID(OperationID(1), 1)), .tick],
    ])

    /// Returns the number of the first turn that differs, after reading the earlier ones.
    private func firstDifference(_ bytes: [UInt8]) throws -> (turn: Int64?, torn: Int) {
        var reader = try RecordReader(bytes)
        var replay = Replay(reader.beginning)
        while let turn = try reader.next() {
            if try replay.repeat(turn) != nil { return (turn.number, 0) }
        }
        return (nil, reader.tornBytes)
    }

    @Test func `a record that is cut off anywhere is read up to its last whole turn`() throws {
        let (bytes, whole) = try session.bytes()
        let first = try #require(whole.first)
        for length in first...bytes.count {
            let torn = length - (whole.last { $0 <= length } ?? 0)
            let found = try firstDifference(Array(bytes[..<length]))
            #expect(found == (nil, torn))
            #expect(try firstDifference(Array(bytes[..<length]) + [UInt8](repeating: 0, count: 99)).turn == nil)
        }
        for length in 0..<first {
            #expect(throws: RecordError.self) { try RecordReader(Array(bytes[..<length])) }
        }
    }

    @Test func `a damaged record is refused`() throws {
        var (bytes, whole) = try session.bytes()
        bytes[whole[1] + 12] ^= 1
        #expect(throws: RecordError.damaged(atByte: whole[1])) { try firstDifference(bytes) }
    }

    @Test func `a changed answer of the scheduler is found`() throws {
        var changed = session
        let removed = changed.turns[1].transition.effects.popLast()
        let effect = try #require(removed)
        #expect(try firstDifference(changed.bytes().all).turn == 2)
        changed = session
        changed.turns[2].transition.changes.append(.daemonSuspended(isSuspended: true))
        #expect(try firstDifference(changed.bytes().all).turn == 3)
        changed = session
        changed.turns[1].results[1] = .success(.done(1))
        var reader = try RecordReader(changed.bytes().all)
        var replay = Replay(reader.beginning)
        _ = try reader.next().map { try replay.repeat($0) }
        let turn = try #require(try reader.next())
        let text = try #require(try replay.repeat(turn)).description
        #expect(text.contains("answers to requests: expected 2, got 2; number 2 is the first to differ"))
        #expect(text.contains("removeQueue(\"no such queue\")"))
        #expect(!text.contains("\(effect)"))
    }

    @Test func `a record can begin with the state of a running scheduler`() throws {
        var later = session
        var scheduler = session.beginning.scheduler
        for turn in session.turns.prefix(2) {
            for input in turn.inputs { _ = scheduler.handle(input.event, at: input.at) }
            guard case .ended(let now, let limit) = turn.end else { continue }
            _ = scheduler.endTurn(at: now, upTo: limit)
        }
        later.beginning = .running(scheduler)
        later.turns.removeFirst(2)
        #expect(try firstDifference(later.bytes().all) == (nil, 0))
    }

    // MARK: The program

    /// Runs `simulate --replay` with a file of these bytes, and returns its output and status.
    private func simulate(_ bytes: [UInt8]) throws -> (output: String, status: Int32) {
        let directory = TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = directory.path + "/file.turns"
        let file = try #require(fopen(path, "w"))
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        fclose(file)
        let beside = "$(dirname \"$(readlink /proc/\(getpid())/exe)\")"
        let output = try #require(popen("exec \"\(beside)/simulate\" --replay \(path) 2>&1", "r"))
        var text: [UInt8] = []
        while case let byte = fgetc(output), byte != EOF { text.append(UInt8(byte)) }
        return (String(decoding: text, as: UTF8.self), pclose(output) >> 8)
    }

    @Test func `the exit status of a replay tells whether it is the same`() throws {
        let (bytes, whole) = try session.bytes()
        let same = try simulate(bytes)
        #expect(same.status == 0)
        #expect(same.output.contains("4 turns, 1 to 4, the same\n"))
        let torn = try simulate(Array(bytes[..<(whole[3] + 5)]))
        #expect(torn.status == 0)
        #expect(torn.output.contains("3 turns, 1 to 3, the same; 5 bytes of an incomplete turn at the end are cut off"))
        var changed = session
        changed.turns[3].transition.reports = []
        let differs = try simulate(changed.bytes().all)
        #expect(differs.status == 1)
        #expect(differs.output.contains("turn 4\ninputs:\n"))
        for unreadable in [[], Array("a text".utf8), Array(bytes[..<(whole[0] - 1)])] {
            let refused = try simulate(unreadable)
            #expect(refused.status == 2)
            #expect(refused.output.contains("record"))
        }
    }
}

internal import OpsCore
internal import OpsRecord
internal import OpsSystem
internal import OpsSystemd

/// Gathers the events of the scheduler and its answers, and lets a side thread write them.
///
/// The loop only appends values to lists. A file begins with the state of the scheduler: the stored one after a start
/// of opsd or an outage, else a copy of the scheduler between two turns.
final class TurnRecorder {
    /// Part of a record, in the order of the file.
    enum Item {
        case beginning(RecordBeginning)
        case turn(CompletedTurn, number: Int64)
    }

    private let loop: EventLoop
    private let log: DaemonLog
    private let writing: SideWork
    private let writer: RecordWriter
    private var turnsPerFile = 1
    /// True if nothing is to be recorded, or if writing has failed.
    private(set) var isOff = true
    private lazy var alarm = Alarm(loop, log) { [unowned self] in write() }

    private var inputs: [TurnInput] = []
    private var results: [Result<Acceptance, Rejection>] = []
    /// Items that the writer does not have yet, and the number of values in them.
    private var gathered: [Item] = []
    private var gatheredSize = 0
    private var isWriting = false
    private var hasReportedGap = false
    /// False until the state of the scheduler is known: turns before that cannot be repeated.
    private var hasBegun = false
    private var turns: Int64 = 0
    private var turnsInFile = 0
    private var bytesInFile = 0

    init(_ loop: EventLoop, _ log: DaemonLog, directory: String) {
        self.loop = loop
        self.log = log
        writing = SideWork(loop: loop, log: log)
        writer = RecordWriter(directory: directory)
    }

    /// Records turns from now on and keeps this number of them, also if writing has failed before; 0 ends the record.
    func keep(_ turns: Int) {
        turnsPerFile = max(1, (turns + RecordLimits.fullFiles - 1) / RecordLimits.fullFiles)
        if turns == 0 { return end() }
        isOff = false
    }

    private func end() {
        isOff = true
        hasBegun = false
        gathered = []
        gatheredSize = 0
    }

    // MARK: Turns

    /// Begins a new file for a scheduler that is made from stored state.
    func begin(_ snapshot: Snapshot, workers: Int32, at now: Moment) {
        guard !isOff else { return }
        inputs = []
        results = []
        begin(.stored(snapshot, workers: workers, at: now))
    }

    /// Records an event that the scheduler has handled.
    func add(_ event: Event, at now: Moment, _ result: Result<Acceptance, Rejection>) {
        guard hasBegun else { return }
        inputs.append(TurnInput(event, at: now))
        results.append(result)
    }

    /// Records the end of a turn.
    func complete(_ end: TurnEnd, _ transition: Transition, scheduler: () -> Scheduler?) {
        complete(
            CompletedTurn(inputs: [], results: [], end: end, transition: transition), scheduler: scheduler)
    }

    /// Records the end of a turn whose last events were handled outside the loop.
    func complete(_ turn: CompletedTurn, scheduler: () -> Scheduler?) {
        turns += 1
        guard !isOff else { return }
        if hasBegun {
            var turn = turn
            turn.inputs = inputs + turn.inputs
            turn.results = results + turn.results
            gather(.turn(turn, number: turns), size: turn.size)
            turnsInFile += 1
        }
        inputs = []
        results = []
        let isFull = turnsInFile >= turnsPerFile || bytesInFile >= RecordLimits.bytesInFile
        // After a gap the writer first finishes what it has.
        guard hasBegun ? isFull : gathered.isEmpty && !isWriting, let scheduler = scheduler() else { return }
        begin(.running(scheduler))
    }

    private func begin(_ beginning: RecordBeginning) {
        hasBegun = true
        turnsInFile = 0
        bytesInFile = 0
        gather(.beginning(beginning), size: 1)
    }

    private func gather(_ item: Item, size: Int) {
        gathered.append(item)
        gatheredSize += size
        if gatheredSize > RecordLimits.gathered, gathered.count > 2 { return leaveGap() }
        if !isWriting, alarm.instant == nil { alarm.set(after: RecordLimits.delay) }
    }

    private func leaveGap() {
        end()
        isOff = false
        guard !hasReportedGap else { return }
        hasReportedGap = true
        log.notice("the record of turns has a gap: turns come faster than they can be written")
    }

    // MARK: Writing

    private func write() {
        guard !isWriting, !gathered.isEmpty else { return }
        isWriting = true
        let lent = Transferred((writer: writer, items: gathered))
        gathered = []
        gatheredSize = 0
        writing.run(
            {
                let (writer, items) = lent.consume()
                do { return Written.bytes(try writer.write(items)) } catch { return Written.failed("\(error)") }
            },
            then: { [weak self] in self?.finish($0) })
    }

    private enum Written: Sendable {
        case bytes(Int)
        case failed(String)
    }

    private func finish(_ written: Written) {
        isWriting = false
        switch written {
        case .bytes(let count):
            bytesInFile = count
            if !gathered.isEmpty { alarm.set(after: RecordLimits.delay) }
        case .failed(let error):
            guard !isOff else { return }
            log.warning("turns are not recorded any more: \(error)")
            end()
        }
    }
}

/// Bounds of the record of turns.
enum RecordLimits {
    static let turns: ClosedRange<Int64> = 0...1_000_000
    /// Number of full files that hold the configured number of turns; one more is being written.
    static let fullFiles = 4
    /// Bytes after which a file counts as full, however few turns it has.
    static let bytesInFile = 64 << 20
    /// Values that may wait for the writer.
    static let gathered = 500_000
    /// Time for which turns are gathered before they are written.
    static let delay = TimeSpan.milliseconds(10)
}

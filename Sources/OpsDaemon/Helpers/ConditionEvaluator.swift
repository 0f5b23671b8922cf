internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Evaluates the conditions of operations. The scheduler decides of which ones, and of how many at once.
///
/// A test that could hang (a path on a dead server, a peer, a command) is made by a helper process with the rights of
/// the operation's user. So users learn nothing through opsd that they could not see themselves, and the loop never
/// waits.
final class ConditionEvaluator {
    private final class Evaluation {
        let operation: OperationID
        let token: Int64
        let conditions: [Condition]
        /// Instant at which conditions without a result count as false.
        let deadline = Clock.read().monotonic + Limits.evaluation
        var index = 0
        var helper: AttemptID?
        /// True while its dependencies are read outside the loop.
        var isReading = false
        init(_ operation: OperationID, _ token: Int64, _ details: Details) {
            self.operation = operation
            self.token = token
            conditions = details.own.conditions
        }
    }

    private let turns: Turns
    private let store: Store
    private let history: History
    private let composer: LaunchComposer
    private let helpers: HelperProcesses
    /// Thread that reads very many dependencies.
    private let reading: SideWork
    private var running: [OperationID: Evaluation] = [:]

    init(
        turns: Turns, store: Store, history: History, composer: LaunchComposer, helpers: HelperProcesses,
        loop: EventLoop, log: DaemonLog
    ) {
        self.turns = turns
        self.store = store
        self.history = history
        self.composer = composer
        self.helpers = helpers
        reading = SideWork(loop: loop, log: log)
    }

    func evaluate(_ operation: OperationID, token: Int64) {
        stop(operation)
        do {
            guard let texts = try history.texts(of: operation) else { return }
            let evaluation = Evaluation(operation, token, try composer.details(of: texts))
            running[operation] = evaluation
            proceed(evaluation)
        } catch let error as StoreError {
            turns.enterOutage(error)
        } catch {
            answer(operation, token, .isUnknown(index: 0, detail: "cannot be read: \(error)"))
        }
    }

    func stop(_ operation: OperationID) {
        guard let evaluation = running.removeValue(forKey: operation) else { return }
        if let helper = evaluation.helper { helpers.stop(helper) }
    }

    func stopAll() {
        for operation in running.keys.sorted() { stop(operation) }
    }

    /// Continues the evaluations that wait for a runner, or whose helper was lost with the last one.
    func resumeWithRunner() {
        for operation in running.keys.sorted() {
            if let evaluation = running[operation], evaluation.helper == nil, !evaluation.isReading {
                proceed(evaluation)
            }
        }
    }

    private func proceed(_ evaluation: Evaluation) {
        while evaluation.index < evaluation.conditions.count {
            let (test, isNegated) = Self.unwrap(evaluation.conditions[evaluation.index].test)
            do {
                switch try ask(test, evaluation) {
                case .asked: return
                case .known(let isTrue, let detail):
                    guard recordAnswer(of: evaluation, isTrue: isTrue != isNegated, detail) else { return }
                }
            } catch let error as StoreError {
                return turns.enterOutage(error)
            } catch {
                return giveUp(evaluation, "\(error)")
            }
        }
        finish(evaluation, .allTrue)
    }

    private enum Finding {
        /// A helper, or a thread, was asked.
        case asked
        case known(isTrue: Bool, detail: String)
    }

    private static func unwrap(_ test: Condition.Test) -> (Condition.Test, isNegated: Bool) {
        guard case .not(let inner) = test else { return (test, false) }
        let (core, isNegated) = unwrap(inner)
        return (core, !isNegated)
    }

    private func ask(_ test: Condition.Test, _ evaluation: Evaluation) throws -> Finding {
        switch test {
        case .pathExists(let path):
            return try send(
                ["/bin/sh", "-c", "test -e \"$1\"", "sh", path], Self.usualTimeout, "\(path) does not exist", evaluation
            )
        case .exec(let arguments, let timeout):
            return try send(arguments, timeout, "\(arguments.joined(separator: " "))", evaluation)
        case .reachable(let host, let port):
            let script = "exec 3<>\"/dev/tcp/$1/$2\""
            return try send(
                ["/bin/bash", "-c", script, "bash", host, "\(port)"], Self.usualTimeout,
                "\(host):\(port) is not reachable", evaluation)
        case .freeSpace(let path, let least):
            let script = "set -- $(stat -f -c '%a %S' -- \"$1\") \"$2\" && test $(($1 * $2)) -ge \"$3\""
            let detail = "\(path) has less than \(SizeText.format(least)) free"
            return try send(["/bin/sh", "-c", script, "sh", path, "\(least)"], Self.usualTimeout, detail, evaluation)
        case .loadBelow(let limit):
            let load = try Machine.load()
            return .known(isTrue: load < limit, detail: "the load is \(load)")
        case .memoryAvailable(let least):
            let available = try Machine.availableMemory()
            return .known(isTrue: available >= least, detail: "\(available >> 20)M are available")
        case .window(let from, let to):
            let minute = Clock.minuteOfDay()
            let isInside = from < to ? (from..<to).contains(minute) : minute >= from || minute < to
            return .known(isTrue: isInside, detail: "the time is outside the window")
        case .dependenciesSucceeded:
            return try askDependencies(evaluation)
        case .newer(let inputs, let outputs):
            return try send(
                ["/bin/bash", "-c", Self.newer, "bash", "\(inputs.count)"] + inputs + outputs, Self.usualTimeout,
                "the outputs are up to date", evaluation, falseStatus: 1)
        case .not: preconditionFailure("negations are taken off first")
        }
    }

    /// Evaluates the dependencies, outside the loop if there are very many.
    private func askDependencies(_ evaluation: Evaluation) throws -> Finding {
        let operation = evaluation.operation
        let end = Clock.read().monotonic + DaemonLimits.dependenciesInTheLoop
        do {
            let isOver = { Clock.read().monotonic >= end }
            let failed = try history.reading(until: isOver) {
                try history.unsuccessfulDependency(of: operation)
            }
            return known(failed)
        } catch let error as StoreError where error.kind == .interrupted {
            let path = store.path
            evaluation.isReading = true
            reading.run(
                { Result { try History.open(path: path).unsuccessfulDependency(of: operation) } },
                then: { [unowned self] in self.read(evaluation, $0) })
            return .asked
        }
    }

    private func known(_ failed: OperationID?) -> Finding {
        .known(isTrue: failed == nil, detail: failed.map { "\(turns.label($0)) did not succeed" } ?? "")
    }

    private func read(_ evaluation: Evaluation, _ result: Result<OperationID?, any Error>) {
        evaluation.isReading = false
        guard running[evaluation.operation] === evaluation else { return }
        do {
            guard case .known(let isTrue, let detail) = known(try result.get()) else { return }
            let isNegated = Self.unwrap(evaluation.conditions[evaluation.index].test).isNegated
            guard recordAnswer(of: evaluation, isTrue: isTrue != isNegated, detail) else { return }
        } catch let error as StoreError {
            return turns.enterOutage(error)
        } catch {
            return giveUp(evaluation, "\(error)")
        }
        proceed(evaluation)
    }

    private static let usualTimeout = TimeSpan.seconds(10)
    /// Script that exits with 0 if a file is missing or an output is older than an input, and else with 1. IFS is
    /// empty, so that an unquoted variable is only expanded as a pattern. A pattern of inputs may match nothing.
    private static let newer = """
        IFS=; shopt -s nullglob globstar; count=$1; shift; newest=
        for pattern in "${@:1:count}"; do
            for file in $pattern; do
                [[ -e $file ]] || exit 0
                [[ -z $newest || $file -nt $newest ]] && newest=$file
            done
        done
        shift "$count"
        for pattern in "$@"; do
            found=
            for file in $pattern; do
                [[ -e $file ]] || exit 0
                [[ -n $newest && $newest -nt $file ]] && exit 0
                found=1
            done
            [[ $found ]] || exit 0
        done
        exit 1
        """

    private func send(
        _ arguments: [String], _ timeout: TimeSpan, _ detail: String, _ evaluation: Evaluation,
        falseStatus: Int32? = nil
    ) throws -> Finding {
        guard let request = try composer.helper(of: evaluation.operation, arguments) else {
            return .known(isTrue: false, detail: "the operation is not in the store")
        }
        let left = max(evaluation.deadline - Clock.read().monotonic, .zero)
        let helper = try helpers.start(request, timeout: min(timeout, left)) {
            [unowned self, unowned evaluation] result in
            self.ended(evaluation, result, detail, falseStatus: falseStatus)
        }
        // Without a runner the evaluation waits for one: see `resumeWithRunner`.
        evaluation.helper = helper
        return .asked
    }

    /// `falseStatus`: the exit status that means false; nil: every status but 0.
    private func ended(
        _ evaluation: Evaluation, _ result: HelperResult, _ detail: String, falseStatus: Int32?
    ) {
        evaluation.helper = nil
        guard running[evaluation.operation] === evaluation else { return }
        let isNegated = Self.unwrap(evaluation.conditions[evaluation.index].test).isNegated
        switch result {
        case .code(let status) where status == 0 || status == falseStatus ?? status:
            guard recordAnswer(of: evaluation, isTrue: (status == 0) != isNegated, detail) else { return }
        case .code(let status): return giveUp(evaluation, "it cannot be evaluated: exit status \(status)")
        case .signal: return giveUp(evaluation, "\(detail): no answer in time")
        case .cannotStart(_, let errno): return giveUp(evaluation, "\(detail): \(SystemError.text(errno))")
        // `resumeWithRunner` starts the helper again.
        case .lost: return
        }
        proceed(evaluation)
    }

    /// Ends an evaluation without a result.
    private func giveUp(_ evaluation: Evaluation, _ detail: String) {
        finish(evaluation, .isUnknown(index: Int32(evaluation.index), detail: detail))
    }

    /// Records the result of one condition. Returns false if it ends the evaluation.
    private func recordAnswer(of evaluation: Evaluation, isTrue: Bool, _ detail: String) -> Bool {
        guard isTrue else {
            finish(evaluation, .isFalse(index: Int32(evaluation.index), detail: detail))
            return false
        }
        evaluation.index += 1
        return true
    }

    private func finish(_ evaluation: Evaluation, _ answer: ConditionAnswer) {
        running[evaluation.operation] = nil
        self.answer(evaluation.operation, evaluation.token, answer)
    }

    private func answer(_ operation: OperationID, _ token: Int64, _ answer: ConditionAnswer) {
        let bounded: ConditionAnswer =
            switch answer {
            case .allTrue: .allTrue
            case .isFalse(let index, let detail): .isFalse(index: index, detail: Self.bounded(detail))
            case .isUnknown(let index, let detail): .isUnknown(index: index, detail: Self.bounded(detail))
            }
        turns.record(.conditionsAnswered(operation, token: token, bounded))
    }

    /// Shortens a detail. Details become causes, which are stored, listed and passed to observers, and a command may
    /// have 2 MiB.
    private static func bounded(_ detail: String) -> String {
        guard detail.utf8.count > DaemonLimits.subjectLength else { return detail }
        let start = String.UnicodeScalarView(detail.unicodeScalars.prefix(DaemonLimits.subjectLength))
        return "\(String(start))..."
    }
}

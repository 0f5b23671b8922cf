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
        /// Instant at which the evaluation of a condition without a result ends.
        let deadline = Clock.read().monotonic + Limits.evaluation
        var index = 0
        var helper: AttemptID?
        /// True while its dependencies or their results are read outside the loop.
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
    /// Thread that reads very many dependencies and their results.
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
            answer(operation, token, .isUnknown(index: 0, detail: "\(error)"))
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

    /// Continues an evaluation. `finding`: returns the finding about the present condition, if it was read outside the
    /// loop.
    private func proceed(_ evaluation: Evaluation, with finding: (() throws -> Finding)? = nil) {
        var finding = finding
        while evaluation.index < evaluation.conditions.count {
            let (test, isNegated) = Self.unwrap(evaluation.conditions[evaluation.index].test)
            do {
                switch try finding?() ?? ask(test, evaluation) {
                case .asked: return
                case .known(let isTrue, let detail):
                    guard recordAnswer(of: evaluation, isTrue: isTrue != isNegated, detail) else { return }
                }
                finding = nil
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

    /// A process that evaluates a test.
    private struct Probe {
        var arguments: [String]
        var timeout = TimeSpan.seconds(10)
        /// Cause that is given if the test is false; nil: the exit status. A negation has none: its text is clear
        /// enough.
        var detail: String?
        /// Exit status that means false; nil: every status but 0.
        var falseStatus: Int32? = 1
        /// Causes for exit statuses that leave the result unknown.
        var failures: [Int32: String] = [:]
        /// True if no answer in time means false.
        var isFalseAfterTimeout = false
        /// True for a command of the user, which has the results of dependencies and the secrets.
        var isCommand = false
    }

    private static func unwrap(_ test: Condition.Test) -> (Condition.Test, isNegated: Bool) {
        guard case .not(let inner) = test else { return (test, false) }
        let (core, isNegated) = unwrap(inner)
        return (core, !isNegated)
    }

    private func ask(_ test: Condition.Test, _ evaluation: Evaluation) throws -> Finding {
        switch test {
        case .pathExists(let path):
            let command = ["/bin/sh", "-c", "test -e \"$1\"", "sh", path]
            return try start(Probe(arguments: command, detail: "\(path) does not exist"), evaluation)
        case .exec(let arguments, let timeout):
            let probe = Probe(arguments: arguments, timeout: timeout, falseStatus: nil, isCommand: true)
            do { return try start(probe, evaluation) } catch let error as StoreError where error.kind == .interrupted {
                return try startAfterReading(probe, evaluation)
            }
        case .reachable(let host, let port):
            let command = ["/bin/bash", "-c", "exec 3<>\"/dev/tcp/$1/$2\"", "bash", host, "\(port)"]
            let detail = "\(host):\(port) is not reachable"
            // Many firewalls drop packets without an answer.
            return try start(Probe(arguments: command, detail: detail, isFalseAfterTimeout: true), evaluation)
        case .freeSpace(let path, let least):
            let command = ["/bin/sh", "-c", Self.freeSpace, "sh", path, "\(least)"]
            let detail = "\(path) has less than \(SizeText.format(least)) free"
            let failures: [Int32: String] = [
                66: "\(path): no such file or directory", 74: "\(path): its file system cannot be read",
                77: "\(path): permission denied",
            ]
            return try start(Probe(arguments: command, detail: detail, failures: failures), evaluation)
        case .loadBelow(let limit):
            let load = try Machine.load()
            return .known(isTrue: load < limit, detail: "the load is \(load)")
        case .memoryAvailable(let least):
            let available = try Machine.availableMemory()
            return .known(isTrue: available >= least, detail: "\(available >> 20)M are available")
        case .window(let from, let to):
            let minute = Clock.minuteOfDay()
            let isInside = from < to ? (from..<to).contains(minute) : minute >= from || minute < to
            return .known(isTrue: isInside, detail: "the time is \(isInside ? "inside" : "outside") the window")
        case .dependenciesSucceeded:
            return try askDependencies(evaluation)
        case .newer(let inputs, let outputs):
            let command = ["/bin/bash", "-c", Self.newer, "bash", "\(inputs.count)"] + inputs + outputs
            return try start(Probe(arguments: command, detail: "the outputs are up to date"), evaluation)
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
                then: { [unowned self] (failed: Result<OperationID?, any Error>) in
                    self.resume(evaluation) { self.known(try failed.get()) }
                })
            return .asked
        }
    }

    private func known(_ failed: OperationID?) -> Finding {
        .known(isTrue: failed == nil, detail: failed.map { "\(turns.label($0)) has not succeeded" } ?? "")
    }

    /// Reads the results of very many dependencies outside the loop, and then starts the process of a probe.
    private func startAfterReading(_ probe: Probe, _ evaluation: Evaluation) throws -> Finding {
        let operation = evaluation.operation
        guard let texts = try history.texts(of: operation) else { return Self.notStored }
        let (path, reader) = (store.path, composer.reader(texts))
        evaluation.isReading = true
        reading.run(
            {
                Result {
                    try History.open(path: path).results(for: operation, of: reader, atMost: DaemonLimits.launchBytes)
                }
            },
            then: { [unowned self] (results: Result<ResultsOfDependencies, any Error>) in
                self.resume(evaluation) { try self.start(probe, evaluation, given: results.get()) }
            })
        return .asked
    }

    /// Continues an evaluation, unless it was stopped, with what was read outside the loop.
    private func resume(_ evaluation: Evaluation, with finding: @escaping () throws -> Finding) {
        evaluation.isReading = false
        guard running[evaluation.operation] === evaluation else { return }
        proceed(evaluation, with: finding)
    }

    /// Script that exits with 0 if the file system has that many free bytes, and else with 1. If it cannot tell, it
    /// exits with a status of sysexits.h: no such file (66), no permission (77), or another error (74). The operation's
    /// PATH need not contain `stat`.
    private static let freeSpace = """
        LC_ALL=C; export LC_ALL
        sizes=$(command -p stat -f -c '%a %S' -- "$1" 2>&1) || case $sizes in
            *': No such file or directory') exit 66 ;;
            *': Permission denied') exit 77 ;;
            *) exit 74 ;;
        esac
        set -- $sizes "$2"
        test $(($1 * $2)) -ge "$3"
        """

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

    private static let notStored = Finding.known(isTrue: false, detail: "the operation is not in the store")

    /// Starts the process of a probe, which answers later. `given`: the results of the dependencies, if they were read
    /// outside the loop.
    private func start(
        _ probe: Probe, _ evaluation: Evaluation, given: ResultsOfDependencies? = nil
    ) throws -> Finding {
        let operation = evaluation.operation
        let composed =
            try probe.isCommand
            ? composer.conditionCommand(of: operation, probe.arguments, given: given)
            : composer.helper(of: operation, probe.arguments)
        guard let request = composed else { return Self.notStored }
        let left = max(evaluation.deadline - Clock.read().monotonic, .zero)
        let helper = try helpers.start(request, timeout: min(probe.timeout, left)) {
            [unowned self, unowned evaluation] result in
            self.ended(evaluation, result, of: probe)
        }
        // Without a runner the evaluation waits for one: see `resumeWithRunner`.
        evaluation.helper = helper
        return .asked
    }

    private func ended(_ evaluation: Evaluation, _ result: HelperResult, of probe: Probe) {
        evaluation.helper = nil
        guard running[evaluation.operation] === evaluation else { return }
        let noAnswer = "no answer in time"
        // Reason why the test is false; nil: it is true.
        let reason: String?
        switch result {
        case .code(0): reason = nil
        case .code(let status) where status == probe.falseStatus ?? status:
            reason = probe.detail ?? "exit status \(status)"
        case .timedOut where probe.isFalseAfterTimeout: reason = probe.detail ?? noAnswer
        case .code(let status): return giveUp(evaluation, probe.failures[status] ?? "exit status \(status)")
        case .timedOut: return giveUp(evaluation, noAnswer)
        case .signal(let signal): return giveUp(evaluation, "killed by \(signalName(signal))")
        case .cannotStart(let step, let errno):
            return giveUp(evaluation, "cannot start: \(step): \(SystemError.text(errno))")
        // `resumeWithRunner` starts the helper again.
        case .lost: return
        }
        let isNegated = Self.unwrap(evaluation.conditions[evaluation.index].test).isNegated
        guard recordAnswer(of: evaluation, isTrue: (reason == nil) != isNegated, reason ?? "") else { return }
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
            case .isUnknown(let index, let detail):
                .isUnknown(index: index, detail: Self.bounded("\(Cause.notEvaluated): \(detail)"))
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

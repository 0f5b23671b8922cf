internal import OpsCore
internal import OpsWire

/// Makes the sentence that explains one reason why an operation waits.
struct ReasonText {
    let label: (OperationID) -> String
    /// An instant as people read it, RFC 3339.
    let instantText: (WallInstant) -> String
    /// Text of a condition: `pathExists /x`.
    let condition: (Int) -> String?
    /// Time for which the runner has not answered, as text.
    var runnerSilence: String?

    func text(_ reason: Reason) -> String {
        let sentence = sentence(reason)
        guard let path = reason.path, sentence.hasSuffix("in line") else { return sentence }
        let second: Int64 = 1000
        // The sum of many estimates may be longer than any duration.
        let length = min(path.milliseconds, Limits.duration.milliseconds)
        let rounded = length < second ? length : (length + second / 2) / second * second
        return sentence + " by its longest path, about \(DurationText.format(.milliseconds(rounded)))"
    }

    private func sentence(_ reason: Reason) -> String {
        let who = names(reason.ids, of: reason.count)
        switch reason.detail {
        case .dependency(let when): return "\(who) must \(verb(when)) first"
        case .category(let name, let wanted, let capacity, let place):
            return category(name, wanted, capacity, place, holders: reason.ids.isEmpty ? nil : who)
        case .reserved(let category):
            return "category \(category) is reserved for \(who), which was overtaken often enough"
        case .rate(let category, let rate, let next):
            return "category \(category) starts at most \(RateText.format(rate)); the next start is possible at "
                + instantText(next)
        case .yields(let category):
            return "yields to \(who), which it waits for and which wants category \(category) too"
        case .deadlocked(let category):
            return "\(who) and category \(category) wait for one another: cancel one, or raise the capacity of the "
                + "category"
        case .queue(let name, let limit, let place):
            return limit == 0
                ? "queue \(name) has a limit of 0"
                : "queue \(name) is full (limit \(limit)); \(ordinal(place)) in line"
        case .pool(let workers, let place):
            return workers == 0
                ? "the daemon has no workers" : "all \(workers) workers are busy; \(ordinal(place)) in line"
        case .suspended(let level): return suspended(level) + (reason.ids.isEmpty ? "" : "; its processes are stopped")
        case .held: return "held until it is resumed"
        case .groupHeld: return "held until \(who) is resumed"
        case .instant(let at):
            return reason.kind == .backoff
                ? "waits until \(instantText(at)) before it is retried" : "not before \(instantText(at))"
        case .condition(let index, let again):
            let asked = "condition \(index + 1)" + (condition(Int(index)).map { " (\($0))" } ?? "")
            guard let again else { return "\(asked) is being evaluated" }
            return "\(asked) is false; evaluated again at \(instantText(again))"
        case .conditionsInLine:
            return "its conditions wait to be evaluated (at most \(Limits.evaluationsAtOnce) evaluations run at once)"
        case .barrier: return "comes after \(who), by a barrier of its queue"
        case .groupNotStarted: return "group \(who) has not started"
        case .groupLimit(let limit, let place):
            return limit == 0
                ? "group \(who) has a limit of 0"
                : "group \(who) runs \(limit) of its children at once; \(ordinal(place)) in line"
        case .ending: return "is being ended; its processes still exist"
        case .process: return "its process is running"
        case .leftovers: return "its main process has ended; processes that it left behind are still running"
        case .executorAway(let name): return "executor \(name) is not connected"
        case .executorWindow(let name, let window, let place):
            return window == 0
                ? "executor \(name) has a window of 0"
                : "executor \(name) has \(window) operations in flight, as many as its window allows; "
                    + "\(ordinal(place)) in line"
        case .job(let executor, let job, let state):
            guard let job else { return "executor \(executor) has not submitted it yet" + suffix(state) }
            return "job \(job) of executor \(executor) has not started" + suffix(state)
        case .startedJob(let executor, let job, let state):
            guard let job else { return "its process is running" + suffix(state) }
            return "job \(job) of executor \(executor) has started" + suffix(state)
        case .children: return "waits for its children \(who)"
        case .finishMessage:
            return "its process has ended; waiting for opsctl finish or X_OPS_FINISHED"
        case .stopping: return "opsd is stopping; nothing starts until it runs again"
        case .runner:
            return runnerSilence.map { "waits for opsd-runner, which has not answered for \($0)" }
                ?? "waits for the runner"
        }
    }

    /// Returns what an executor says about an operation, as the end of a sentence.
    private func suffix(_ state: EngineState?) -> String {
        guard let state, !state.text.isEmpty else { return "" }
        return ": \(state.text)" + (state.expectedStart.map { "; expected at \(instantText($0))" } ?? "")
    }

    private func category(
        _ name: String, _ wanted: CategoryUse, _ capacity: Int32, _ place: Int, holders: String?
    ) -> String {
        if capacity == 0 { return "category \(name) is closed (capacity 0)" }
        if wanted.mode == .units && wanted.units > capacity {
            return "wants \(wanted.units) units of category \(name), whose capacity is \(capacity)"
        }
        let held = holders.map { "is held by \($0)" } ?? "is taken"
        return "category \(name) \(held); \(ordinal(place)) in line"
    }

    private func suspended(_ level: Level) -> String {
        switch level {
        case .daemon: "the daemon is suspended"
        case .queue(let name): "queue \(name) is suspended"
        case .graph(let graph): "graph g\(graph.rawValue) is suspended"
        case .operations(let ids): "\(names(ids, of: ids.count)) is frozen"
        }
    }

    private func verb(_ when: EdgeCondition) -> String {
        switch when {
        case .succeeded: "succeed"
        case .finished: "finish"
        case .failed: "fail"
        case .started: "start"
        }
    }

    /// Returns the first few operations as text. The `ids` of the reply contain more of them.
    private func names(_ ids: [OperationID], of count: Int) -> String {
        let shown = 3
        let first = ids.prefix(shown).map(label).joined(separator: ", ")
        return count > shown ? "\(first) and \(count - shown) more" : first
    }

    private func ordinal(_ place: Int) -> String {
        if (11...13).contains(place % 100) { return "\(place)th" }
        return switch place % 10 {
        case 1: "\(place)st"
        case 2: "\(place)nd"
        case 3: "\(place)rd"
        default: "\(place)th"
        }
    }
}

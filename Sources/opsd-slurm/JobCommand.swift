internal import Glibc
internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// A command about one job of an attempt. It is sent only while a listing shows that the job is still that of the attempt:
/// after a crash Slurm may have given its number to another one.
struct JobCommand: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case release
        /// Ends a waiting or running job.
        case cancel
        /// Signals all processes of a running job.
        case signal(Int32)
        /// Lets the program on the node read its request.
        case wake
        /// Changes the niceness of a waiting job. Slurm would release a held one by that.
        case rank(Int32)

        /// Returns whether the command makes sense for a job that a listing shows.
        func fits(_ row: JobRow) -> Bool {
            switch self {
            case .release: row.isHeld
            case .rank: row.state.meaning == .pending && !row.isHeld
            case .cancel: !row.state.hasEnded
            // A controller that has forgotten the start shows the job as waiting, and signals nothing.
            case .signal, .wake: row.state.meaning == .active
            }
        }
    }

    var kind: Kind
    var job: String
    var attempt: AttemptID

    /// Job and attempt of a command.
    private struct Target: Hashable {
        var job: String
        var attempt: AttemptID
    }

    private var target: Target { Target(job: job, attempt: attempt) }

    /// Effect that the command performs, if it is a signal that the tracker repeats when it is lost.
    var signal: JobTracker.Effect? {
        switch kind {
        case .signal(SIGTERM): .terminate(job: job)
        case .signal(SIGTSTP): .stop(job: job)
        case .signal(SIGCONT): .resume(job: job)
        default: nil
        }
    }

    /// Returns the row of each target in a listing.
    private static func rows(of commands: [JobCommand], in listing: JobListing) -> [Target: JobRow] {
        let targets = Set(commands.map(\.target))
        let jobs = Set(commands.map(\.job))
        var found: [Target: JobRow] = [:]
        for row in listing.rows where jobs.contains(row.job) {
            for attempt in row.batch.attempts {
                let target = Target(job: row.job, attempt: attempt)
                if targets.contains(target), found[target] == nil { found[target] = row }
            }
        }
        return found
    }

    /// Returns the commands that fit a listing.
    static func fitting(_ commands: [JobCommand], _ listing: JobListing) -> [JobCommand] {
        let found = rows(of: commands, in: listing)
        return commands.filter { command in found[command.target].map { command.kind.fits($0) } ?? false }
    }

    /// A command line that performs the commands of one kind about some jobs.
    struct Line {
        var kind: Kind
        var jobs: Set<String>
        var words: [String]
    }

    /// Returns the command lines for commands that fit a listing.
    static func lines(_ commands: [JobCommand], _ listing: JobListing, instance: String) -> [Line] {
        var jobs: [Kind: [String]] = [:]
        var kinds: [Kind] = []
        var known: [Kind: Set<String>] = [:]
        for command in commands {
            if jobs[command.kind] == nil { kinds.append(command.kind) }
            guard known[command.kind, default: []].insert(command.job).inserted else { continue }
            jobs[command.kind, default: []].append(command.job)
        }
        return kinds.flatMap { lines($0, jobs[$0] ?? [], listing, instance) }
    }

    private static func lines(
        _ kind: Kind, _ jobs: [String], _ listing: JobListing, _ instance: String
    ) -> [Line] {
        let name = "--name=" + JobComment.jobName(of: instance)
        let line = { (jobs: [String], words: [String]) in Line(kind: kind, jobs: Set(jobs), words: words) }
        switch kind {
        case .release: return [line(jobs, ["scontrol", "release", compressed(jobs, listing).joined(separator: ",")])]
        case .cancel:
            // With a name scancel would end all waiting tasks of the array.
            let tasks = jobs.filter { JobNumber($0)?.array != nil }
            let others = jobs.filter { JobNumber($0)?.array == nil }
            let lines = [line(others, ["scancel", name] + others), line(tasks, ["scancel"] + tasks)]
            return lines.filter { !$0.jobs.isEmpty }
        case .signal(let number):
            return [line(jobs, ["scancel", name, "-t", "RUNNING", "-s", "\(number)", "--full"] + jobs)]
        case .rank(let niceness):
            return jobs.map { line([$0], ["scontrol", "update", "JobId=\($0)", "Nice=\(niceness)"]) }
        case .wake: return [line(jobs, ["scancel", name, "-t", "RUNNING", "-s", "\(SIGURG)", "--batch"] + jobs)]
        }
    }

    /// Names an array as a whole if all of its held tasks are to be released: Slurm then keeps it as one job.
    private static func compressed(_ jobs: [String], _ listing: JobListing) -> [String] {
        let released = Set(jobs)
        var held: [String: Bool] = [:]
        for row in listing.rows where row.isHeld {
            guard let array = JobNumber(row.job)?.array else { continue }
            held[array] = held[array] ?? true && released.contains(row.job)
        }
        var words: [String] = []
        var known: Set<String> = []
        for job in jobs {
            let word = JobNumber(job)?.array.flatMap { held[$0] == true ? $0 : nil } ?? job
            if known.insert(word).inserted { words.append(word) }
        }
        return words
    }
}

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
            case .cancel, .signal, .wake: !row.state.hasEnded
            }
        }
    }

    var kind: Kind
    var job: String
    var attempt: AttemptID

    private func row(in rows: [String: [JobRow]]) -> JobRow? {
        rows[job]?.first { $0.batch.attempts.contains(attempt) }.flatMap { kind.fits($0) ? $0 : nil }
    }

    /// Returns whether all commands fit a listing.
    static func allFit(_ commands: [JobCommand], _ listing: JobListing) -> Bool {
        let rows = Dictionary(grouping: listing.rows, by: \.job)
        return commands.allSatisfy { $0.row(in: rows) != nil }
    }

    /// Returns the command lines for all commands that fit a listing.
    static func lines(_ commands: [JobCommand], _ listing: JobListing, instance: String) -> [[String]] {
        let rows = Dictionary(grouping: listing.rows, by: \.job)
        var jobs: [Kind: [String]] = [:]
        var kinds: [Kind] = []
        for command in commands where command.row(in: rows) != nil {
            if jobs[command.kind] == nil { kinds.append(command.kind) }
            if jobs[command.kind]?.contains(command.job) != true { jobs[command.kind, default: []].append(command.job) }
        }
        return kinds.flatMap { lines($0, jobs[$0] ?? [], listing, instance) }
    }

    private static func lines(
        _ kind: Kind, _ jobs: [String], _ listing: JobListing, _ instance: String
    ) -> [[String]] {
        let name = "--name=" + JobComment.jobName(of: instance)
        switch kind {
        case .release: return [["scontrol", "release", compressed(jobs, listing).joined(separator: ",")]]
        case .cancel:
            // With a name scancel would end all waiting tasks of the array.
            let tasks = jobs.filter { JobNumber($0)?.array != nil }
            let others = jobs.filter { JobNumber($0)?.array == nil }
            return (others.isEmpty ? [] : [["scancel", name] + others]) + (tasks.isEmpty ? [] : [["scancel"] + tasks])
        case .signal(let number): return [["scancel", name, "-t", "RUNNING", "-s", "\(number)", "--full"] + jobs]
        case .rank(let niceness): return jobs.map { ["scontrol", "update", "JobId=\($0)", "Nice=\(niceness)"] }
        case .wake: return [["scancel", name, "-t", "RUNNING", "-s", "\(SIGURG)", "--batch"] + jobs]
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
        for job in jobs {
            let array = JobNumber(job)?.array
            let word = array.flatMap { held[$0] == true ? $0 : nil } ?? job
            if words.last != word, array == nil || !words.contains(word) { words.append(word) }
        }
        return words
    }
}

internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem
internal import OpsSystemd

/// Runs the commands of Slurm in the order of the requests.
final class SlurmEngine {
    private let thread: SideThread
    /// Requirements that Slurm has found possible: each is tested once.
    private var possible: Set<[String]> = []
    private var users: [UInt32: Spawn.User] = [:]
    /// Jobs to release at the end of the turn, by user.
    private var releases: [UInt32: [String]] = [:]

    init(_ thread: SideThread) { self.thread = thread }

    /// Looks up the groups of a user. Commands run as the owner of the jobs.
    func prepare(_ user: LaunchRequest.User?) throws(SystemError) {
        guard let user, user.uid != Identity.uid else { return }
        var account = try Account.withUID(user.uid, formerName: user.name)
        account?.gid = user.gid
        users[user.uid] = Spawn.User(uid: user.uid, gid: user.gid, groups: try account?.groups() ?? [user.gid])
    }

    /// Looks up a user from the number alone.
    private func prepare(_ uid: UInt32) throws(SystemError) {
        guard uid != Identity.uid else { return }
        guard let account = try Account.withUID(uid) else {
            throw SystemError("look up uid \(uid)", errno: SystemError.noSuchFile)
        }
        users[uid] = Spawn.User(uid: uid, gid: account.gid, groups: try account.groups())
    }

    /// Submits a held job. The first one with these requirements is tested before, since Slurm does not check held
    /// jobs.
    func submit(
        _ words: [String], testing test: [String], for uid: UInt32, then take: @escaping (Submission) -> Void
    ) {
        let submission = EngineCommand(arguments: words, user: users[uid])
        let isKnown = possible.contains(test)
        let question = EngineCommand(arguments: test, user: users[uid])
        thread.run {
            if !isKnown {
                let answer = question.run()
                if answer.status != 0 {
                    let reply = Submission(status: answer.status, output: "", errors: answer.errors)
                    if case .refused = reply { return reply }
                }
            }
            let end = submission.run()
            return Submission(status: end.status, output: end.output, errors: end.errors)
        } then: { [unowned self] (reply: Submission) in
            if case .accepted = reply { possible.insert(test) }
            take(reply)
        }
    }

    /// Lists the jobs of one user; nil: Slurm does not answer.
    func list(_ instance: String, of uid: UInt32, then take: @escaping (JobListing?, _ askedAt: Int64) -> Void) {
        let command = EngineCommand(
            arguments: JobListing.command(instance: instance), user: users[uid], variables: JobListing.environment)
        thread.run {
            let askedAt = Clock.read().monotonic
            let end = command.run()
            guard end.status == 0 else {
                Program.writeError("opsd-slurm: squeue: \(end.errors)")
                return (nil, askedAt)
            }
            return (JobListing(end.output, instance: instance), askedAt)
        } then: { (found: (JobListing?, Int64)) in
            take(found.0, found.1)
        }
    }

    /// Returns all users who have jobs of this instance, and prepares commands as these; nil: Slurm does not answer.
    func findOwners(_ instance: String, then take: @escaping (Set<UInt32>?) -> Void) {
        let command = EngineCommand(arguments: JobOwners.command(instance: instance))
        thread.run {
            command.run()
        } then: { [unowned self] (end: EngineCommand.End) in
            guard end.status == 0, let owners = JobOwners.parse(end.output) else {
                Program.writeError("opsd-slurm: squeue: \(end.errors)")
                return take(nil)
            }
            do throws(SystemError) {
                for uid in owners where users[uid] == nil { try prepare(uid) }
                take(owners)
            } catch {
                Program.writeError("opsd-slurm: \(error)")
                take(nil)
            }
        }
    }

    func release(_ job: String, of uid: UInt32) { releases[uid, default: []].append(job) }

    /// Releases the collected jobs. Later listings show whether that worked; the exit status of scontrol does not.
    func sendReleases() {
        for (uid, jobs) in releases { run(["scontrol", "release", jobs.joined(separator: ",")], as: uid) }
        releases = [:]
    }

    /// Ends waiting and running jobs. Does not touch a job of another owner that has the same number.
    func cancel(_ jobs: [String], of instance: String, _ uid: UInt32) {
        run(["scancel", "--name=" + JobComment.jobName(of: instance)] + jobs, as: uid)
    }

    /// Signals only running jobs: for a waiting one scancel would try again for a minute.
    func signal(_ number: Int32, _ job: String, of instance: String, _ uid: UInt32) {
        let name = "--name=" + JobComment.jobName(of: instance)
        run(["scancel", name, "-t", "RUNNING", "-s", "\(number)", "--full", job], as: uid)
    }

    private func run(_ words: [String], as uid: UInt32) {
        let command = EngineCommand(arguments: words, user: users[uid])
        thread.run {
            command.run()
        } then: { (end: EngineCommand.End) in
            if end.status != 0 { Program.writeError("opsd-slurm: \(words.joined(separator: " ")): \(end.errors)") }
        }
    }
}

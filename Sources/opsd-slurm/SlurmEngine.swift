internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem
internal import OpsSystemd

/// A listing from which commands follow.
struct RecentListing: Sendable {
    var listing: JobListing
    /// Instant before squeue was started.
    var askedAt: MonotonicInstant

    /// Age at which number and comment of a job need another check. A controller that has been killed does not take
    /// submissions again within this time.
    private static let longestAge = TimeSpan.milliseconds(500)

    /// Returns the listing unless it is too old.
    func listing(now: MonotonicInstant) -> JobListing? { now - askedAt < Self.longestAge ? listing : nil }
}

/// Answer to the question for all jobs of a user.
enum ListingAnswer: Sendable {
    case listing(RecentListing)
    /// There is no listing, for this reason: the message of squeue, or a fault of its output.
    case failed(String)
}

/// Commands about jobs that Slurm has taken, and messages about the others.
private struct SentCommands: Sendable {
    var taken: Set<JobCommand> = []
    var errors: [String] = []
}

/// Runs the commands of Slurm, those of each user in the order of the requests.
final class SlurmEngine {
    private let threads: UserThreads
    /// Requirements that Slurm has found possible: each is tested once.
    private var possible: Set<[String]> = []
    /// Most of them that are kept: a user can make up any number.
    private static let mostPossible = 10_000
    private var users: [UInt32: Spawn.User] = [:]
    /// Commands about jobs that are sent at the end of the turn, by user.
    private var commands: [UInt32: [JobCommand]] = [:]
    /// Jobs to look for by their numbers at the end of the turn, by user.
    private var unlisted: [UInt32: [UnlistedJob]] = [:]
    /// Listings of the current turn, by user. Commands that follow from a listing need no other one before them.
    private var recent: [UInt32: RecentListing] = [:]
    /// Most tasks of an array: the cluster's MaxArraySize, of which the first index is 0.
    private(set) var mostTasks = 1000

    init(_ threads: UserThreads) { self.threads = threads }

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
        _ words: [String], testing test: [String], for uid: UInt32, then handle: @escaping (Submission) -> Void
    ) {
        let submission = EngineCommand(arguments: words, user: users[uid])
        let isKnown = possible.contains(test)
        let question = EngineCommand(arguments: test, user: users[uid])
        threads.run(for: uid) {
            if !isKnown, let refusal = Self.refusal(of: question) { return refusal }
            let end = submission.run()
            return Submission(status: end.status, output: end.output, errors: end.errors)
        } then: { [unowned self] (reply: Submission) in
            if case .accepted = reply {
                if possible.count >= Self.mostPossible { possible = [] }
                possible.insert(test)
            }
            handle(reply)
        }
    }

    /// Returns Slurm's refusal of a job that can never run. Slurm gives the same answer while a node is down that the job
    /// needs, so the same controller must show all nodes as up before and after it.
    private static func refusal(of question: EngineCommand) -> Submission? {
        guard question.run().status != 0, let controller = controllerWithAllNodes(as: question.user) else { return nil }
        let answer = question.run()
        let reply = Submission(status: answer.status, output: "", errors: answer.errors)
        guard case .refused = reply, controllerWithAllNodes(as: question.user) == controller else { return nil }
        return reply
    }

    /// Returns the instant at which the controller was started if all nodes are up.
    private static func controllerWithAllNodes(as user: Spawn.User?) -> Substring? {
        let nodes = EngineCommand(arguments: NodeStates.command, user: user).run().output
        let configuration = EngineCommand(arguments: ClusterConfiguration.command, user: user).run().output
        return NodeStates.areAllUp(nodes) ? ClusterConfiguration.controllerStart(configuration) : nil
    }

    /// Lists the jobs of one user.
    func list(_ instance: String, of uid: UInt32, then handle: @escaping (ListingAnswer) -> Void) {
        let command = EngineCommand(
            arguments: JobListing.command(instance: instance), user: users[uid], variables: JobListing.environment)
        threads.run(for: uid) { () -> ListingAnswer in
            let askedAt = Clock.read().monotonic
            let end = command.run()
            guard end.status == 0 else {
                let message = SlurmMessage.text(end.errors)
                return .failed(message.isEmpty ? "no answer" : message)
            }
            guard let listing = JobListing(end.output, instance: instance) else {
                return .failed("its output is no listing of jobs")
            }
            return .listing(RecentListing(listing: listing, askedAt: askedAt))
        } then: { (answer: ListingAnswer) in
            handle(answer)
        }
    }

    /// Sends the commands of this turn without another check if they fit this listing.
    func use(_ listing: RecentListing, of uid: UInt32) { recent[uid] = listing }

    /// Returns all users who have jobs of this instance, and prepares commands as these; nil: Slurm does not answer.
    func findOwners(_ instance: String, then handle: @escaping (Set<UInt32>?) -> Void) {
        let command = EngineCommand(arguments: JobOwners.command(instance: instance))
        threads.run(for: Identity.uid) {
            command.run()
        } then: { [unowned self] (end: EngineCommand.End) in
            guard end.status == 0, let owners = JobOwners.parse(end.output) else {
                Program.writeError("opsd-slurm: squeue: \(end.errors)")
                return handle(nil)
            }
            do throws(SystemError) {
                for uid in owners where users[uid] == nil { try prepare(uid) }
                handle(owners)
            } catch {
                Program.writeError("opsd-slurm: \(error)")
                handle(nil)
            }
        }
    }

    /// Asks for the limits of the cluster.
    func readLimits() {
        let command = EngineCommand(arguments: ClusterConfiguration.command)
        threads.run(for: Identity.uid) {
            command.run()
        } then: { [unowned self] (end: EngineCommand.End) in
            if let most = ClusterConfiguration.mostTasks(end.output) { mostTasks = most }
        }
    }

    /// Ends the threads without work, except those of some users.
    func endIdleThreads(except users: Set<UInt32>) { threads.endIdle(except: users) }

    func add(_ command: JobCommand, of uid: UInt32) { commands[uid, default: []].append(command) }

    /// Adds a job that is to be cancelled if it is held.
    func add(_ job: UnlistedJob, of uid: UInt32) { unlisted[uid, default: []].append(job) }

    /// Sends the collected commands. Calls `handle` for each, with whether Slurm has taken it. That matters for signals and
    /// ranks: later listings show whether the others worked.
    func sendCommands(_ instance: String, then handle: @escaping (_ command: JobCommand, _ isTaken: Bool) -> Void) {
        for (uid, commands) in commands {
            let check = EngineCommand(
                arguments: JobListing.command(instance: instance), user: users[uid], variables: JobListing.environment)
            let listing = recent[uid]
            threads.run(for: uid) {
                Self.send(commands, listing, instance, check: check)
            } then: { (sent: SentCommands) in
                for error in sent.errors { Program.writeError("opsd-slurm: \(error)") }
                for command in commands { handle(command, sent.taken.contains(command)) }
            }
        }
        for (uid, jobs) in unlisted { cancel(jobs, instance, as: uid) }
        commands = [:]
        unlisted = [:]
        recent = [:]
    }

    /// Checks number and comment of each job immediately before, with the listing that the commands follow from if it is
    /// recent and shows all of the jobs.
    private static func send(
        _ commands: [JobCommand], _ recent: RecentListing?, _ instance: String, check: EngineCommand
    ) -> SentCommands {
        var sent = SentCommands()
        var listing = recent?.listing(now: Clock.read().monotonic)
        var fitting = listing.map { JobCommand.fitting(commands, $0) } ?? []
        if fitting.count < commands.count {
            let end = check.run()
            guard end.status == 0 else {
                sent.errors = ["squeue: \(end.errors)"]
                return sent
            }
            listing = JobListing(end.output, instance: instance)
            fitting = listing.map { JobCommand.fitting(commands, $0) } ?? []
        }
        guard let listing else {
            sent.errors = ["squeue: the output is incomplete"]
            return sent
        }
        for line in JobCommand.lines(fitting, listing, instance: instance) {
            let end = EngineCommand(arguments: line.words, user: check.user).run()
            if end.status == 0 {
                sent.taken.formUnion(fitting.filter { $0.kind == line.kind && line.jobs.contains($0.job) })
            } else {
                sent.errors.append("\(line.words.joined(separator: " ")): \(end.errors)")
            }
        }
        return sent
    }

    /// Looks for jobs by their numbers, and cancels those that are held.
    private func cancel(_ jobs: [UnlistedJob], _ instance: String, as uid: UInt32) {
        let user = users[uid]
        let question = EngineCommand(arguments: UnlistedJob.command(jobs), user: user)
        threads.run(for: uid) {
            let held = UnlistedJob.held(among: jobs, in: question.run().output, instance: instance)
            return held.isEmpty ? "" : EngineCommand(arguments: ["scancel"] + held, user: user).run().errors
        } then: { (errors: String) in
            if !errors.isEmpty { Program.writeError("opsd-slurm: scancel: \(errors)") }
        }
    }
}

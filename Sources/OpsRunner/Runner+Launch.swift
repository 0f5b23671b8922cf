internal import OpsSystem

/// Starting attempts.
extension Runner {
    /// Starts an attempt once: a known one is answered with what is known of it.
    func launch(_ request: LaunchRequest) {
        if let known = table[request.attempt] {
            for again in known.reports { report(again) }
            return
        }
        // opsd has been told: what was on its way goes back to those that wait.
        if ending != nil { return }
        hand.occupy(request.slot)
        let before = Clock.read()
        let record: AttemptRecord
        do throws(SpawnError) {
            record = try start(request, at: before)
        } catch {
            if request.slot >= 0 { hand.close(for: request.attempt) }
            record = AttemptRecord(failed: request, error)
        }
        table[request.attempt] = record
        // The rest is reported once its program runs.
        if startups[request.attempt] != nil { return }
        for first in record.reports { report(first) }
    }

    private func start(_ request: LaunchRequest, at before: ClockReading) throws(SpawnError) -> AttemptRecord {
        if let kept = try takeSharedGroup(for: request) {
            do throws(SpawnError) {
                return try start(request, in: kept.group, kept, at: before)
            } catch {
                // What an operation of root's may have done to it is no fault of the next.
                guard ["process", "control group"].contains(error.step) else { throw error }
            }
        }
        return try start(request, in: try makeGroup(request), nil, at: before)
    }

    private func start(
        _ request: LaunchRequest, in group: ControlGroup?, _ kept: KeptGroup?, at before: ClockReading
    ) throws(SpawnError) -> AttemptRecord {
        do throws(SpawnError) {
            let line = try line(for: request)
            var files: [LogFile] = []
            let pid: Int32
            do throws(SpawnError) {
                let address = line?.socket.address ?? notify.address
                pid = try spawn(request, in: group, kept, speakingAt: address, keeping: &files)
            } catch {
                giveBack(line, slot: request.slot)
                throw error
            }
            let process = LaunchedProcess(pid: pid, startTicks: Runner.startTicks(of: pid, since: before), at: before)
            let record = AttemptRecord(
                request.attempt, .running, process: process, tree: group.map { .group($0) } ?? .descent,
                leftovers: request.leftovers, grace: request.grace, uid: request.user?.uid ?? Identity.uid,
                slot: request.slot)
            record.line = line
            record.keptGroup = kept
            mains[pid] = request.attempt
            if group == nil { descent.begin(request.attempt, main: pid, socket: request.socket, uid: record.uid) }
            logs.add(request.attempt, files, cap: request.logCap, uid: record.uid, now: before.monotonic)
            return record
        } catch {
            if let kept { sharedGroups.letGo(kept) }
            if let group { noting { () throws(SystemError) in _ = try group.remove() } }
            throw error
        }
    }

    /// A group that has served others, or will; `nil`: this one needs its own.
    private func takeSharedGroup(for request: LaunchRequest) throws(SpawnError) -> KeptGroup? {
        guard request.controlLimits.isEmpty else { return nil }
        do throws(SystemError) {
            return try sharedGroups.take(for: request.attempt)
        } catch {
            throw SpawnError(step: "control group", errno: error.errno)
        }
    }

    private func makeGroup(_ request: LaunchRequest) throws(SpawnError) -> ControlGroup? {
        guard let groups else {
            if request.controlLimits.isEmpty { return nil }
            throw SpawnError(step: "control group", errno: SpawnError.notSupported)
        }
        let group = groups.group(request.attempt.groupName)
        do throws(SystemError) {
            try group.make()
            var limits = request.controlLimits
            if groups.controllers.contains("cpu") { limits.cpuWeight = limits.cpuWeight ?? request.priority.cpuWeight }
            try limits.apply(to: group)
            return group
        } catch {
            noting { () throws(SystemError) in _ = try group.remove() }
            throw SpawnError(step: "control group", errno: error.errno)
        }
    }

    private func spawn(
        _ request: LaunchRequest, in group: ControlGroup?, _ kept: KeptGroup?, speakingAt address: String,
        keeping files: inout [LogFile]
    ) throws(SpawnError) -> Int32 {
        var spawn = Spawn(arguments: request.arguments, environment: request.environment)
        spawn.environment.append("NOTIFY_SOCKET=" + address)
        // An older opsd has said it.
        if request.slot >= 0, connection?.version ?? 0 >= RunnerProtocol.versionWithHand {
            spawn.environment.append("OPS_SLOT=\(request.slot)")
        }
        spawn.directory = request.directory
        spawn.umask = request.umask
        spawn.standardInput = .reading(request.stdin)
        try setUser(request.user, of: &spawn)
        setPriority(request, of: &spawn)
        return try request.output.withStreams(owner: spawn.user, keeping: &files) { (out, err) throws(SpawnError) in
            spawn.standardOutput = out
            spawn.standardError = err
            if let kept {
                spawn.controlGroup = kept.directory.rawValue
                return try begin(spawn, for: request)
            }
            guard let group else { return try begin(spawn, for: request) }
            let directory: Descriptor
            do throws(SystemError) {
                directory = try group.open()
            } catch {
                throw SpawnError(step: "control group", errno: error.errno)
            }
            spawn.controlGroup = directory.rawValue
            let pid = try begin(spawn, for: request)
            _ = consume directory
            return pid
        }
    }

    private func setUser(_ user: LaunchRequest.User?, of spawn: inout Spawn) throws(SpawnError) {
        // An ordinary user's runner runs everything as that user, and could do nothing else.
        guard let user, Identity.uid == 0 || user.uid != Identity.uid else { return }
        do throws(SystemError) {
            let list = try groupLists.groups(of: user, now: Clock.read().monotonic)
            spawn.user = Spawn.User(uid: user.uid, gid: user.gid, groups: list)
        } catch {
            throw SpawnError(step: "user", errno: error.errno)
        }
    }

    private func setPriority(_ request: LaunchRequest, of spawn: inout Spawn) {
        spawn.nice = request.priority.nice
        spawn.ioPriority = request.priority.ioClass.map { Int32($0.rawValue) << 13 | Int32(request.priority.ioLevel) }
        spawn.oomScore = defaults.oomScore
        spawn.limits = request.resourceLimits.map {
            Spawn.Limit(resource: $0.resource.number, soft: $0.soft, hard: $0.hard)
        }
        if !spawn.limits.contains(where: { $0.resource == defaults.openFiles.resource }) {
            spawn.limits.append(defaults.openFiles)
        }
    }

    /// The start time as /proc tells it, without asking when the clock shows that only one tick is possible.
    private static func startTicks(of pid: Int32, since before: ClockReading) -> UInt64 {
        // /proc counts in hundredths of a second (USER_HZ) on every architecture.
        let tick: Int64 = 10_000_000
        let first = before.monotonic / tick
        if Clock.read().monotonic / tick == first { return UInt64(first) }
        // A process that we have not waited for is there; what cannot be read is told as the first possible tick.
        return (try? ProcessRecord.read(pid))?.startTicks ?? UInt64(first)
    }
}

extension LaunchRequest {
    /// The step that failed, with what it was about.
    func subject(of error: SpawnError) -> String {
        let subject: String?
        switch error.step {
        case "exec":
            let program = arguments.first ?? ""
            subject = program.isEmpty ? "\"\"" : program
        case "interpreter": return "exec the interpreter of \((arguments.first ?? "").prefix(Self.subjectLength))"
        case "directory": subject = directory
        case "standard input": subject = stdin
        case "standard output": subject = output.named?.stdout
        case "standard error": subject = output.named?.stderr
        default: subject = nil
        }
        return subject.map { "\(error.step) \($0.prefix(Self.subjectLength))" } ?? error.step
    }

    private static let subjectLength = 400

    /// The OPS_SOCKET that its processes are given.
    var socket: String? {
        environment.value(of: "OPS_SOCKET")
    }
}

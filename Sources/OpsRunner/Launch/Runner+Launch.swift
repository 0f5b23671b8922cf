internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSystem

/// Starting attempts.
extension Runner {
    /// Starts an attempt once. The launch of a known attempt is answered with its present state.
    func launch(_ request: LaunchRequest) {
        if let known = table[request.attempt] {
            for again in known.reports { report(again) }
            return
        }
        // opsd knows of the shutdown, and puts launches that were on their way back into the queue.
        if shutdown != nil { return }
        staged.removeFreeSlot(request.slot)
        let before = Clock.read()
        let record: AttemptRecord
        do throws(SpawnError) {
            record = try start(request, at: before)
        } catch {
            if request.slot >= 0 { staged.block(for: request.attempt) }
            record = AttemptRecord(failed: request, error)
        }
        table[request.attempt] = record
        // For another user's process the report follows when its program runs.
        if startups[request.attempt] != nil { return }
        for first in record.reports { report(first) }
    }

    private func start(_ request: LaunchRequest, at before: Moment) throws(SpawnError) -> AttemptRecord {
        if let pooled = try acquirePooledGroup(for: request) {
            do throws(SpawnError) {
                return try start(request, in: pooled.group, pooled, at: before)
            } catch {
                // An earlier operation of root may have damaged the group: this one gets a group of its own.
                guard ["process", "control group"].contains(error.step) else { throw error }
            }
        }
        return try start(request, in: try makeGroup(request), nil, at: before)
    }

    private func start(
        _ request: LaunchRequest, in group: ControlGroup?, _ pooled: PooledControlGroup?, at before: Moment
    ) throws(SpawnError) -> AttemptRecord {
        do throws(SpawnError) {
            try makeOutputDirectory(for: request)
            let socket = try notifySocket(for: request)
            var files: [LogFile] = []
            let pid: Int32
            do throws(SpawnError) {
                let address = socket?.socket.address ?? notify.address
                pid = try spawn(request, in: group, pooled, notifyAddress: address, keeping: &files)
            } catch {
                releaseNotifySocket(socket, slot: request.slot)
                throw error
            }
            let process = LaunchedProcess(pid: pid, startTicks: Runner.startTicks(of: pid, since: before), at: before)
            let record = AttemptRecord(
                request.attempt, .running, process: process, tree: group.map { .group($0) } ?? .descendants,
                leftovers: request.leftovers, grace: request.grace, uid: request.user?.uid ?? Identity.uid,
                slot: request.slot)
            record.notifySocket = socket
            record.pooledGroup = pooled
            mains[pid] = request.attempt
            if group == nil { descendants.begin(request.attempt, main: pid, socket: request.socket, uid: record.uid) }
            logs.add(request.attempt, files, cap: request.logCap, uid: record.uid, now: before.monotonic)
            logSampler.add(request.attempt, files, now: before.monotonic)
            return record
        } catch {
            if let pooled { groupPool.withdraw(pooled) }
            if let group { logErrors { _ = try group.remove() } }
            logErrors { _ = try outputDirectories.release(request.attempt, hasLeftovers: false) }
            throw error
        }
    }

    private func makeOutputDirectory(for request: LaunchRequest) throws(SpawnError) {
        if request.outputDirectory.isEmpty { return }
        do throws(SystemError) {
            try outputDirectories.make(
                request.outputDirectory, for: request.attempt, owner: request.user.map { ($0.uid, $0.gid) })
        } catch {
            throw SpawnError(step: "output directory", errno: error.errno)
        }
    }

    /// Acquires a group of the pool; `nil`: the attempt needs a group of its own.
    private func acquirePooledGroup(for request: LaunchRequest) throws(SpawnError) -> PooledControlGroup? {
        guard request.controlLimits.isEmpty else { return nil }
        do throws(SystemError) {
            return try groupPool.acquire(for: request.attempt)
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
            logErrors { _ = try group.remove() }
            throw SpawnError(step: "control group", errno: error.errno)
        }
    }

    private func spawn(
        _ request: LaunchRequest, in group: ControlGroup?, _ pooled: PooledControlGroup?, notifyAddress address: String,
        keeping files: inout [LogFile]
    ) throws(SpawnError) -> Int32 {
        var spawn = Spawn(arguments: request.arguments, environment: request.environment)
        spawn.environment.append("NOTIFY_SOCKET=" + address)
        // An opsd of version 1 sets it itself.
        if request.slot >= 0, connection?.version ?? 0 >= LaunchProtocol.versionWithStaging {
            spawn.environment.append("OPS_SLOT=\(request.slot)")
        }
        if !request.outputDirectory.isEmpty {
            spawn.environment.append("OPS_OUTPUT_DIR=" + request.outputDirectory)
        }
        spawn.secrets = request.secrets.map { Spawn.Secret(name: $0.name, path: $0.path) }
        spawn.directory = request.directory
        spawn.umask = request.umask
        spawn.standardInput = .reading(request.stdin)
        try setUser(request.user, of: &spawn)
        setPriority(request, of: &spawn)
        return try request.output.withStreams(owner: spawn.user, keeping: &files) { (out, err) throws(SpawnError) in
            spawn.standardOutput = out
            spawn.standardError = err
            if let pooled {
                spawn.controlGroup = pooled.directory.rawValue
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
            let list = try supplementaryGroups.groups(of: user, now: Clock.read().monotonic)
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

    /// Returns the start time of a process in clock ticks, as /proc has it. Reads /proc only if the clock has gone from one
    /// tick to the next since `before`.
    private static func startTicks(of pid: Int32, since before: Moment) -> UInt64 {
        // /proc counts in hundredths of a second (USER_HZ) on every architecture.
        let tick = TimeSpan.milliseconds(10)
        let first = before.monotonic.nanoseconds / tick.nanoseconds
        if Clock.read().monotonic.nanoseconds / tick.nanoseconds == first { return UInt64(first) }
        // The process is there, for we have not waited for it. If /proc cannot be read, the first possible tick is taken.
        return (try? ProcessRecord.read(pid))?.startTicks ?? UInt64(first)
    }
}

extension LaunchRequest {
    /// OPS_SOCKET in the environment of its processes.
    var socket: String? {
        environment.value(of: "OPS_SOCKET")
    }
}

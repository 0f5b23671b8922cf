internal import OpsExecutor
internal import OpsSystem

/// State that a runner passes to the program it becomes. The process, its children and its descriptors stay the same.
///
/// The state is written to a file of the state directory that names this process, so that the file of a process that
/// crashed is never used.
struct ReexecutionState {
    static let fileName = "runner.table"
    private static let sizeLimit = 1 << 30
    /// Version of the file. 2: records have lengths.
    private static let version: UInt16 = 2

    var instance: String
    var defaults: LaunchDefaults
    var records: [AttemptRecord]
    var leftoverGroups: [ControlGroup]
    var staleTrees: [AttemptID: StaleTree]
    var logs: LogTrimmer
    var outputDirectories: [(attempt: AttemptID, directory: OutputDirectories.Directory)]
    /// Descriptors, open in this process; the new program owns them.
    var lock: Int32
    var listener: Int32
    var notify: Int32
    var notifyAddress: String
    var slotSockets: [SlotSocket] = []
    /// Processes whose programs do not run yet; their pipes are open in this process.
    var startups: [Startup] = []

    /// Notify socket of a slot; its descriptor is open in this process.
    struct SlotSocket {
        var address: String
        var descriptor: Int32
        var slot: Int32
        /// True if the next operation of the slot gets it.
        var isCurrent: Bool
        /// Attempt that uses it, and the user of that attempt.
        var attempt: AttemptID?
        var uid: UInt32
    }
}

extension ReexecutionState {
    /// Loads the state that the program before this one has written; `nil`: there was none.
    static func load(from state: String) throws(SystemError) -> ReexecutionState? {
        let path = state + "/" + fileName
        guard let bytes = try Files.readIfPresent(path, limit: sizeLimit),
            let own = try ProcessRecord.read(Identity.pid)
        else { return nil }
        let saved: ReexecutionState?
        do throws(ProtocolError) {
            saved = try ReexecutionState(bytes, for: own)
        } catch {
            // Without the state the running children would be lost.
            throw SystemError("read \(path): \(error)", errno: SystemError.invalid)
        }
        if saved != nil { try Files.remove(path) }
        return saved
    }

    /// Reads the state; `nil`: it is the state of another process, which has died.
    private init?(_ bytes: [UInt8], for own: ProcessRecord) throws(ProtocolError) {
        var from = Unpacker(bytes[...], recordsHaveLengths: false)
        let pid: Int32 = try from.number()
        let startTicks: UInt64 = try from.number()
        guard pid == own.pid, startTicks == own.startTicks else { return nil }
        let version: UInt16 = try from.number()
        guard (1...ReexecutionState.version).contains(version) else { throw .badValue("version \(version)") }
        from = Unpacker(from.rest, recordsHaveLengths: version >= 2)
        try self.init(from: &from)
    }

    func write(to state: String) throws(SystemError) {
        guard let own = try ProcessRecord.read(Identity.pid) else { return }
        var packer = Packer(recordsHaveLengths: true)
        packer.pack(own.pid)
        packer.pack(own.startTicks)
        packer.pack(ReexecutionState.version)
        pack(into: &packer)
        try Files.replace(state + "/" + ReexecutionState.fileName, with: packer.bytes, mode: 0o600)
    }

    private func pack(into packer: inout Packer) {
        packer.pack(instance)
        packer.pack(defaults.openFiles.soft)
        packer.pack(defaults.openFiles.hard)
        packer.pack(defaults.oomScore) { $0.pack($1) }
        packer.pack(lock)
        packer.pack(listener)
        packer.pack(notify)
        packer.pack(notifyAddress)
        packer.pack(leftoverGroups) { $0.pack($1.path) }
        packer.pack(staleTrees.map { ($0.key, $0.value.socket) }) {
            $0.pack($1.0)
            $0.pack($1.1)
        }
        logs.pack(into: &packer)
        packer.pack(records) { $0.pack($1) }
        packer.pack(slotSockets) { packer, socket in
            packer.packRecord { packer in
                packer.pack(socket.address)
                packer.pack(socket.descriptor)
                packer.pack(socket.slot)
                packer.pack(socket.isCurrent)
                packer.pack(socket.attempt) { $0.pack($1) }
                packer.pack(socket.uid)
            }
        }
        packer.pack(startups) { packer, startup in
            packer.packRecord {
                $0.pack(startup.request)
                $0.pack(startup.process.pid)
                $0.pack(startup.process.report.rawValue)
                $0.pack(startup.deadline)
                $0.pack(startup.isOutOfTime)
            }
        }
        packer.pack(records) {
            $0.pack($1.attempt)
            $0.pack($1.uid)
        }
        packer.pack(staleTrees.map { ($0.key, $0.value.uid) }) {
            $0.pack($1.0)
            $0.pack($1.1) { $0.pack($1) }
        }
        logs.packOpen(into: &packer)
        packer.pack(outputDirectories) {
            $0.pack($1.attempt)
            $0.pack($1.directory.path)
            $0.pack($1.directory.uid)
        }
    }

    private init(from: inout Unpacker) throws(ProtocolError) {
        instance = try from.text()
        defaults = LaunchDefaults(
            openFiles: Spawn.Limit(
                resource: ResourceLimit.Resource.openFiles.number, soft: try from.number(), hard: try from.number()),
            oomScore: try from.optionalNumber())
        lock = try from.number()
        listener = try from.number()
        notify = try from.number()
        notifyAddress = try from.text()
        leftoverGroups = try from.texts().map { ControlGroup(path: $0) }
        staleTrees = [:]
        let trees = try from.list { (from: inout Unpacker) throws(ProtocolError) in
            (try from.attempt(), StaleTree(socket: try from.text(), uid: nil, lookAt: .zero))
        }
        for (attempt, tree) in trees { staleTrees[attempt] = tree }
        logs = try LogTrimmer(from: &from)
        records = try from.records { (from: inout Unpacker) throws(ProtocolError) in
            try from.attemptRecord()
        }
        outputDirectories = []
        // A program from before there were slot sockets ends here; its operations use `notifyAddress`.
        if from.isAtEnd { return }
        slotSockets = try from.records { (from: inout Unpacker) throws(ProtocolError) in
            SlotSocket(
                address: try from.text(), descriptor: try from.number(), slot: try from.number(),
                isCurrent: try from.flag(),
                attempt: try from.optional { (from: inout Unpacker) throws(ProtocolError) in try from.attempt() },
                uid: try from.number())
        }
        // A program from before starts were followed ends here.
        if from.isAtEnd { return }
        startups = try from.records { (from: inout Unpacker) throws(ProtocolError) in try from.startup() }
        // A program from before users counted and logs stayed open ends here. The users of most attempts came with their
        // slot sockets.
        if from.isAtEnd { return }
        try readUsersAndLogs(from: &from)
    }

    private mutating func readUsersAndLogs(from: inout Unpacker) throws(ProtocolError) {
        let users = try from.list { (from: inout Unpacker) throws(ProtocolError) in
            (attempt: try from.attempt(), uid: try from.number(UInt32.self))
        }
        let uids = Dictionary(users.map { ($0.attempt, $0.uid) }) { $1 }
        for record in records { record.uid = uids[record.attempt] ?? record.uid }
        let staleUsers = try from.list { (from: inout Unpacker) throws(ProtocolError) in
            (attempt: try from.attempt(), uid: try from.optionalNumber() as UInt32?)
        }
        for (attempt, uid) in staleUsers { staleTrees[attempt]?.uid = uid }
        logs = try LogTrimmer(openFrom: &from)
        // A program from before there were output directories ends here.
        if from.isAtEnd { return }
        outputDirectories = try from.list { (from: inout Unpacker) throws(ProtocolError) in
            (try from.attempt(), OutputDirectories.Directory(path: try from.text(), uid: try from.number()))
        }
    }
}

extension Packer {
    fileprivate mutating func pack(_ record: AttemptRecord) {
        packRecord { packer in
            packer.pack(record.attempt)
            packer.pack(record.attemptState)
            packer.pack(record.process)
            switch record.tree {
            case .none: packer.pack(UInt8(0))
            case .descendants: packer.pack(UInt8(1))
            case .group(let group):
                packer.pack(UInt8(2))
                packer.pack(group.path)
            }
            packer.pack(record.leftovers)
            packer.pack(record.grace)
            packer.pack(record.update)
            packer.pack(record.unreportedUpdate)
            packer.pack(record.isFrozen)
            packer.pack(record.killAt) { $0.pack($1) }
            packer.pack(record.extendedUntil) { $0.pack($1) }
        }
    }
}

extension Unpacker {
    fileprivate mutating func startup() throws(ProtocolError) -> Startup {
        let request = try launchRequest()
        let process = StartingProcess(pid: try number(), report: Descriptor(owning: try number()))
        let startup = Startup(request, process, deadline: try time())
        startup.isOutOfTime = try flag()
        return startup
    }

    fileprivate mutating func attemptRecord() throws(ProtocolError) -> AttemptRecord {
        let attempt = try attempt()
        let phase: AttemptRecord.Phase
        switch try attemptState() {
        case .running: phase = .running
        case .exited(let exit): phase = .exited(exit)
        case .gone(let exit): phase = .gone(exit)
        case .failed(let step, let errno): phase = .failed(step: step, errno: errno)
        case .accepted, .refused, .ended: throw .badValue("state of an external attempt")
        }
        let process = try launchedProcess()
        let tree: AttemptRecord.Tree
        switch try number(UInt8.self) {
        case 0: tree = .none
        case 1: tree = .descendants
        case 2: tree = .group(ControlGroup(path: try text()))
        case let other: throw .badValue("tree \(other)")
        }
        let record = AttemptRecord(
            attempt, phase, process: process, tree: tree, leftovers: try leftovers(), grace: try time())
        record.update = try operationUpdate()
        record.unreportedUpdate = try operationUpdate()
        record.isFrozen = try flag()
        record.killAt = try optionalTime()
        if recordsHaveLengths, !isAtEnd {
            record.extendedUntil = try optionalTime()
        } else if let duration = record.unreportedUpdate.extendTimeout {
            // An older program does not say when it was requested.
            record.extendedUntil = Clock.read().monotonic.clampedSum(duration)
        }
        return record
    }
}

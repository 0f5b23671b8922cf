internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// The directory of an attempt in the spool.
///
/// It belongs to this process. Only `run` in it belongs to the user, who can change it at any time while this process may be
/// root: nothing there is read, changed or removed by its path. Nothing of that is done in the loop.
struct AttemptSpool {
    /// Records that the job has written.
    struct Records: Sendable {
        var start: StartRecord?
        var exit: ExitRecord?
        /// Number of the fence that the start has passed.
        var fence = 0
    }

    let paths: SpoolPaths
    /// Owner of the files that the job writes.
    let user: UInt32

    init(_ request: LaunchRequest, _ paths: SpoolPaths) {
        self.paths = paths
        user = request.user?.uid ?? Identity.uid
    }

    private static let launchLimit = 64 << 20
    private static let recordLimit = 4096

    /// Makes the directory. The launch is written last: without it the attempt does not exist. Nothing is brought to the disk:
    /// the journal has the launch, too.
    func make(_ request: LaunchRequest) throws(SystemError) {
        try Files.makeDirectories(paths.directory, mode: 0o711)
        let bytes = SpooledLaunch.bytes(request)
        if !Files.isDirectory(paths.run) { try makeRun(bytes, request.user) }
        try Files.replaceWithoutSync(paths.launch, with: bytes, mode: 0o600)
    }

    /// Makes the directory of the user, which has no other way to it until it is complete.
    private func makeRun(_ launch: [UInt8], _ user: LaunchRequest.User?) throws(SystemError) {
        try DirectoryTree(paths.newRun).remove()
        try Files.makeDirectories(paths.newRun, mode: 0o700)
        if let user, user.uid != Identity.uid {
            let copy = "\(paths.newRun)/\(RunFile.launch)"
            try Files.replaceWithoutSync(copy, with: launch, mode: 0o600)
            try Files.give(copy, toUser: user.uid, group: user.gid)
            try Files.give(paths.newRun, toUser: user.uid, group: user.gid)
        }
        try Files.move(paths.newRun, to: paths.run)
    }

    func storeLaunch(_ request: LaunchRequest) throws(SystemError) {
        try Files.replaceWithoutSync(paths.launch, with: SpooledLaunch.bytes(request), mode: 0o600)
    }

    /// Returns the bytes of the stored launch; nil: there is none. A launch that a user owns, as those of earlier releases,
    /// counts as empty: opsd, which has the launch, too, sends it again.
    static func launch(at paths: SpoolPaths) throws(SystemError) -> [UInt8]? {
        guard let file = try ReadableFile.open(paths.launch) else { return nil }
        guard try file.owner == Identity.uid else { return [] }
        return try file.read(at: 0, count: min(Int(try file.size), launchLimit))
    }

    // MARK: Files of the job

    /// Returns the records that the job has written. `fence`: number of the fence that it passes.
    func records(_ fence: Int) throws(SystemError) -> Records {
        guard let run = try run() else { return Records() }
        run.refresh()
        // In this order: an exit without a start is none.
        let exit = try Self.bytes(RunFile.exit, in: run).flatMap { ExitRecord($0) }
        let start = try Self.bytes(RunFile.started(fence), in: run).map { StartRecord($0) }
        return Records(start: start, exit: exit, fence: fence)
    }

    /// Returns the records of an attempt that may have passed any of several fences.
    func records(ofFences fences: Range<Int>) throws(SystemError) -> Records {
        for fence in fences {
            let found = try records(fence)
            if found.start != nil { return found }
        }
        return Records()
    }

    /// Closes a fence, durably: no job can pass it after that. Returns false if one has passed.
    func close(_ fence: Int) throws(SystemError) -> Bool {
        // Without the directory no job can create its record.
        guard let run = try run() else { return true }
        return try run.reserve(RunFile.started(fence), withLinkTo: "closed")
    }

    /// Writes the request to the program on the node.
    func write(_ request: StepRequest) throws(SystemError) {
        try run()?.replace(RunFile.request, with: request.bytes)
    }

    /// Opens the directory of the user; nil: there is none that this process can enter.
    func run() throws(SystemError) -> ForeignDirectory? { try ForeignDirectory.open(paths.run, of: user) }

    /// Calls `body`. Users can cause errors in their directories, so these are only logged; nil: there was one.
    static func logErrors<Value>(_ body: () throws(SystemError) -> Value) -> Value? {
        do throws(SystemError) {
            return try body()
        } catch {
            Program.writeError("opsd-slurm: \(error)")
            return nil
        }
    }

    private static func bytes(_ name: String, in run: borrowing ForeignDirectory) throws(SystemError) -> [UInt8]? {
        guard let file = try run.file(name) else { return nil }
        return try file.read(at: 0, count: recordLimit)
    }
}

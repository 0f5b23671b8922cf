internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Reason why opsd did not start: one sentence for people.
struct StartError: Error, CustomStringConvertible {
    public let description: String
}

extension Daemon {
    /// Runs opsd until it is told to stop.
    public static func run(_ options: CommandLineOptions) throws {
        var configuration = try Configuration.load(options)
        let passed = try Service.claimListeningDescriptors()
        for descriptor in passed.reversed() {
            if let path = try UnixSocket.path(of: descriptor) { configuration.socket = path }
        }
        Program.returnLargeBlocks()
        try Signals.ignore(Signals.pipe)
        // A limit of file sizes would end opsd by a signal; ignored, SQLite reports it as an error.
        try Signals.ignore(Signals.fileSize)
        // The only child is a runner that detaches itself, so opsd does not wait for it.
        try Signals.ignore(Signals.child)
        let log = DaemonLog(level: configuration.logLevel)
        do throws(SystemError) {
            try OpenFiles.raiseLimit()
        } catch {
            log.warning("cannot raise the limit of open files: \(error)")
        }
        let loop = try EventLoop()
        try makeStateDirectory(configuration.state)
        // A migration after its copy, or the recovery of a long log, may take longer than a start usually does.
        try Service.notify("EXTEND_TIMEOUT_USEC=\(DaemonLimits.openingMicroseconds)")
        let store = try Store.open(directory: configuration.state, boot: try Boot.identifier())
        let history = try History.open(path: store.path)
        let daemon = try Daemon(
            configuration: configuration, options: options, loop: loop, log: log, store: store, history: history)
        try daemon.start(listeningOn: passed)
        try loop.run()
        daemon.server?.flush()
        daemon.removeSocketFile()
        daemon.server?.closeAll()
    }

    /// Returns the settings that would be used, for `--check-config`.
    public static func settings(_ options: CommandLineOptions) throws -> String {
        try Configuration.load(options).text
    }

    /// Prints why opsd did not start, or could not continue, and exits.
    public static func refuse(_ error: any Error) -> Never {
        let error = (error as? StoreError)?.atStart ?? error
        DaemonLog(level: .error).write(
            .error, "\(error)", [(name: "MESSAGE_ID", value: JournalWriter.Message.startRefused)])
        Program.exit(status: 1)
    }

    private static func makeStateDirectory(_ path: String) throws {
        do {
            try Files.makePrivateDirectory(path)
            // Operations of other users reach their output directories through it.
            guard Identity.uid == 0 else { return }
            try Files.makePrivate(path + "/logs")
            try Files.makeTraversable(path)
        } catch {
            guard error.errno == SystemError.notPermitted else {
                throw StartError(description: "cannot use the state directory: \(error)")
            }
            throw StartError(
                description: "the state directory \(path) can be written by others, or belongs to another user; "
                    + "make it private with: chown \(Identity.uid) \(path) && chmod 700 \(path)")
        }
    }

    /// - Parameter passed: Listening sockets that systemd passed.
    private func start(listeningOn passed: Range<Int32>) throws {
        let server = try Server(
            loop: loop, limits: connectionLimits, authorization: authorization, log: log,
            handler: { [unowned self] frame, connection in self.requests.handle(frame, from: connection) })
        self.server = server
        isActivated = !passed.isEmpty
        for socket in try isActivated ? Self.listeningSockets(passed) : [listeningSocket()] {
            try server.listen(on: socket)
        }
        try watchSignals()
        moveUnknownLogsAside()
        try loop.feedWatchdog()
        runner.connect()
        executors.configure(configuration.executors)
        try schedules.load()
        try graphs.load()
        retention.schedule()
        if ServiceStatus.isWanted {
            publisher.add(
                ServiceStatus(
                    loop: loop, log: log, text: { [unowned self] in statusText },
                    notify: { [unowned self] in notifyStatus() }))
        }
        // The recovery may have decided something, and `finish` observers may still have to run.
        turns.turn.hasEvents = true
        turns.wakeUp()
        try Service.notify("READY=1\nSTATUS=\(statusText)")
        log.notice("opsd \(Release.current.text) listens on \(configuration.socket), state in \(configuration.state)")
    }

    private func moveUnknownLogsAside() {
        guard let core = turns.core else { return }
        do throws(SystemError) {
            guard let aside = try logs.setAside(from: core.nextOperationID) else { return }
            log.notice("logs of operations that the database does not know are in \(aside)")
        } catch {
            log.warning("cannot move logs of operations that the database does not know: \(error)")
        }
    }

    /// Number of connections for which there are descriptors: one for each, and one for the log or the answer that it reads.
    /// Some are kept for the database, the runner and everything else.
    private static var connectionsWithinDescriptors: Int {
        // A limit that cannot be read leaves the configured number.
        guard let limit = try? OpenFiles.limit().soft else { return .max }
        return max(16, (Int(clamping: limit) - DaemonLimits.descriptorsKept) / 2)
    }

    var connectionLimits: ConnectionLimits {
        ConnectionLimits(
            total: min(configuration.connections, Self.connectionsWithinDescriptors),
            perUser: configuration.connectionsPerUser,
            bytesPerUser: configuration.bufferedPerUser)
    }

    private static func listeningSockets(_ passed: Range<Int32>) throws -> [ListeningSocket] {
        try passed.map { descriptor in
            let socket = ListeningSocket(Descriptor(owning: descriptor))
            try socket.descriptor.setNonBlocking(true)
            try UnixSocket.refuseDescriptors(at: socket.descriptor)
            return socket
        }
    }

    private func listeningSocket() throws -> ListeningSocket {
        let path = configuration.socket
        if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try Files.makeDirectories(String(path[..<slash]), mode: Identity.uid == 0 ? 0o755 : 0o700)
        }
        // The lock of the state directory does not cover the socket.
        if UnixSocket.isServed(path) {
            throw StartError(description: "another daemon listens on \(path); stop it first, or give --socket")
        }
        let group = Identity.uid == 0 ? try Account.group(named: configuration.group) : nil
        let descriptor = try UnixSocket.listen(at: path, mode: group == nil ? 0o600 : 0o660)
        socketFile = FileIdentity(of: path)
        if let group {
            do throws(SystemError) {
                try Files.give(path, toGroup: group)
            } catch {
                log.warning("cannot give \(path) to group \(configuration.group): \(error)")
            }
        }
        return ListeningSocket(descriptor)
    }

    /// Removes the socket file that this process made, because clients look for another daemon only if there is none.
    /// While the listener is open, no other daemon takes the path and no other file gets the inode.
    private func removeSocketFile() {
        guard let socketFile, FileIdentity(of: configuration.socket) == socketFile else { return }
        do throws(SystemError) {
            try Files.remove(configuration.socket)
        } catch {
            log.warning("cannot remove the socket: \(error)")
        }
    }
}

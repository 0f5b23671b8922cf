internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSystem
internal import OpsSystemd

/// Notifications that operations send.
extension Runner {
    /// Most messages read in one turn; the rest waits for the next turn.
    private static let messagesPerTurn = 512

    // MARK: Sockets

    /// Returns the socket of the slot of an operation; `nil`: it has no slot, and uses the shared socket.
    func notifySocket(for request: LaunchRequest) throws(SpawnError) -> SlotNotifySocket? {
        if request.slot < 0 { return nil }
        do throws(SystemError) {
            return try slotSockets.acquire(slot: request.slot, for: request.attempt) { (socket) throws(SystemError) in
                try watch(socket)
            }
        } catch {
            throw SpawnError(step: "notify socket", errno: error.errno)
        }
    }

    func watch(_ socket: SlotNotifySocket) throws(SystemError) {
        try socket.watch(in: loop) { [unowned self] socket in receiveNotifications(from: socket) }
    }

    func releaseNotifySocket(_ socket: SlotNotifySocket?, slot: Int32) {
        guard let socket else { return }
        logErrors { try slotSockets.release(socket, slot: slot) }
    }

    /// Closes the socket of an attempt whose processes may live on.
    func retireNotifySocket(of record: AttemptRecord) {
        guard let socket = record.notifySocket else { return }
        record.notifySocket = nil
        logErrors { try slotSockets.retire(socket, slot: record.slot) }
    }

    // MARK: Receiving

    /// Reads all messages that an attempt has sent until now.
    func receiveNotifications(of record: AttemptRecord) {
        if let socket = record.notifySocket { receiveNotifications(from: socket) }
    }

    private func receiveNotifications(from socket: SlotNotifySocket) {
        logErrors {
            for _ in 0..<Runner.messagesPerTurn {
                guard let message = try socket.socket.receive() else { return }
                guard let attempt = socket.attempt, let record = table[attempt], record.isAlive,
                    try isProcess(message.sender, of: record)
                else { continue }
                apply(message.text, to: record)
            }
            try socket.setListening(false)
            pausedSockets.append(socket)
        }
    }

    /// Returns whether a sender is a process of an attempt. For a sender that has ended, only its user can be checked.
    private func isProcess(_ sender: Credentials, of record: AttemptRecord) throws(SystemError) -> Bool {
        guard sender.pid > 0, isUser(sender, of: record) else { return false }
        // As root `systemd-notify` sends in the name of its parent, and the parent of an orphan is this process.
        if sender.pid == Identity.pid { return sender.uid == 0 }
        if let owner = try attempt(of: sender.pid) { return owner == record.attempt }
        if let process = try ProcessRecord.read(sender.pid), !process.hasEnded { return false }
        return true
    }

    /// Returns whether a sender is root or the user of an attempt. Messages of all other users are ignored.
    private func isUser(_ sender: Credentials, of record: AttemptRecord) -> Bool {
        sender.uid == record.uid || sender.uid == 0
    }

    /// Reads the messages at the shared socket. Only those from processes of a living attempt count.
    func receiveSharedNotifications() {
        logErrors {
            while true {
                if sharedMessages == Runner.messagesPerTurn {
                    try notifySource?.setInterest([])
                    return
                }
                guard let message = try notify.receive() else { return }
                sharedMessages += 1
                guard let attempt = try attempt(of: message.sender.pid), let record = table[attempt], record.isAlive,
                    isUser(message.sender, of: record)
                else { continue }
                apply(message.text, to: record)
            }
        }
    }

    private func apply(_ message: String, to record: AttemptRecord) {
        let update = OperationUpdate(message: message)
        if update.isEmpty { return }
        record.update.merge(update)
        record.unreportedUpdate.merge(update)
        updatedAttempts.insert(record.attempt)
    }

    /// Resumes the sockets that were paused in this turn.
    func resumeListening() {
        if sharedMessages == Runner.messagesPerTurn { logErrors { try notifySource?.setInterest(.readable) } }
        sharedMessages = 0
        if pausedSockets.isEmpty { return }
        let paused = pausedSockets
        pausedSockets = []
        for socket in paused { logErrors { try socket.setListening(true) } }
    }

    /// Returns the attempt that a process belongs to; `nil`: none, or not known.
    private func attempt(of pid: Int32) throws(SystemError) -> AttemptID? {
        guard pid > 0 else { return nil }
        if let attempt = mains[pid] { return attempt }
        if let groups {
            guard let name = try groups.member(pid) else { return nil }
            if let attempt = AttemptID(groupName: name) { return attempt }
            return try ControlGroupPool.attempt(in: groups.group(name))
        }
        return try descendants.attempt(ofDescendant: pid, mains: mains)
    }

    // MARK: Reporting

    /// Reports the updates since the last report. Without a connection they are kept.
    func reportUpdates() {
        guard let connection, connection.isGreeted, !updatedAttempts.isEmpty else { return }
        let attempts = updatedAttempts.sorted()
        updatedAttempts = []
        for attempt in attempts {
            guard let record = table[attempt], !record.unreportedUpdate.isEmpty else { continue }
            report(.updated(attempt, record.unreportedUpdate))
            record.unreportedUpdate = OperationUpdate()
        }
    }
}

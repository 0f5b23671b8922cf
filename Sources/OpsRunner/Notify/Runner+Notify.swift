internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSystem
internal import OpsSystemd

/// Notify sockets with more messages than a turn of the loop reads, and the time for messages in this turn.
struct NotifyBacklog {
    enum Socket {
        /// Socket of all attempts without a slot.
        case shared
        case slot(SlotNotifySocket)
    }

    /// Longest time that the messages of all sockets take in one turn. The rest waits for the next turn.
    private static let longestTime = TimeSpan.milliseconds(3)
    /// Sockets that take turns, the next one first. They are not watched meanwhile.
    var sockets: [Socket] = []
    /// End of the time of this turn; `nil`: no message was read in this turn.
    private var end: MonotonicInstant?

    mutating func beginReading() { end = end ?? Clock.read().monotonic + NotifyBacklog.longestTime }

    var isOutOfTime: Bool { end.map { Clock.read().monotonic >= $0 } ?? false }

    mutating func endTurn() { end = nil }
}

/// Notifications that operations send.
extension Runner {
    /// Maximum number of messages that are read from one socket before the next one gets its share.
    private static let messagesPerShare = 16
    /// Maximum number of messages that wait in a socket, with `net.unix.max_dgram_qlen` as systemd sets it.
    private static let longestQueue = 513

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
        try socket.watch(in: loop) { [unowned self] socket in receiveNotifications(from: .slot(socket)) }
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

    /// Reads the messages that an attempt has sent until now, for a report that follows them. Returns `false` if some
    /// may be left: the queue is longer than usual, or reading has failed.
    @discardableResult
    func receiveNotifications(of record: AttemptRecord) -> Bool {
        guard let socket = record.notifySocket else { return true }
        notifyBacklog.beginReading()
        var isEmpty = false
        logErrors {
            for _ in 0..<Runner.longestQueue {
                guard try receiveNotification(from: socket, canWait: false) else {
                    isEmpty = true
                    return
                }
            }
        }
        return isEmpty
    }

    /// Reads messages of a socket that is readable, unless other sockets wait for their shares.
    func receiveNotifications(from socket: NotifyBacklog.Socket) {
        logErrors {
            if notifyBacklog.sockets.isEmpty, !notifyBacklog.isOutOfTime, try receiveShare(from: socket) { return }
            try setListening(to: socket, false)
            notifyBacklog.sockets.append(socket)
            notifyWork?.schedule()
        }
    }

    /// Reads a share of each socket in the backlog after the other, while there is time in this turn.
    func receiveBacklog() {
        repeat {
            if notifyBacklog.sockets.isEmpty { return }
            let socket = notifyBacklog.sockets.removeFirst()
            if case .slot(let own) = socket, own.isClosed { continue }
            // After an error the watch finds out whether there are more.
            var isEmpty = true
            logErrors { isEmpty = try receiveShare(from: socket) }
            if isEmpty {
                logErrors { try setListening(to: socket, true) }
            } else {
                notifyBacklog.sockets.append(socket)
            }
        } while !notifyBacklog.isOutOfTime
        if !notifyBacklog.sockets.isEmpty { notifyWork?.schedule() }
    }

    /// Reads at least one message. Returns whether none is left.
    private func receiveShare(from socket: NotifyBacklog.Socket) throws(SystemError) -> Bool {
        notifyBacklog.beginReading()
        for _ in 0..<Runner.messagesPerShare {
            let wasThere =
                switch socket {
                case .shared: try receiveSharedNotification()
                case .slot(let socket): try receiveNotification(from: socket, canWait: true)
                }
            if !wasThere { return true }
            if notifyBacklog.isOutOfTime { return false }
        }
        return false
    }

    private func setListening(to socket: NotifyBacklog.Socket, _ isListening: Bool) throws(SystemError) {
        switch socket {
        case .shared: try notifySource?.setInterest(isListening ? .readable : [])
        case .slot(let socket): try socket.setListening(isListening)
        }
    }

    /// Reads one message of a slot socket. Returns false if there is none.
    private func receiveNotification(from socket: SlotNotifySocket, canWait: Bool) throws(SystemError) -> Bool {
        guard let message = try socket.socket.receive() else { return false }
        if let attempt = socket.attempt, let record = table[attempt], record.isAlive,
            try isProcess(message.sender, of: record, canWait: canWait)
        {
            apply(message.text, to: record)
        }
        return true
    }

    /// Reads one message of the shared socket. Only those from processes of a living attempt count. Returns false if there
    /// is none.
    private func receiveSharedNotification() throws(SystemError) -> Bool {
        guard let message = try notify.receive() else { return false }
        // Any process can send. The search for its attempt is long, and made only for the users of attempts.
        guard table.values.contains(where: { $0.isAlive && isUser(message.sender, of: $0) }),
            let attempt = try attempt(of: message.sender.pid), let record = table[attempt], record.isAlive,
            isUser(message.sender, of: record)
        else { return true }
        apply(message.text, to: record)
        return true
    }

    /// Returns whether a sender is a process of an attempt. For a sender that has ended, only its user can be checked; and
    /// no more is checked out of time for a message that cannot wait: its sender could have ended as well.
    private func isProcess(
        _ sender: Credentials, of record: AttemptRecord, canWait: Bool
    ) throws(SystemError) -> Bool {
        guard sender.pid > 0, isUser(sender, of: record) else { return false }
        // As root `systemd-notify` sends in the name of its parent, and the parent of an orphan is this process.
        if sender.pid == Identity.pid { return sender.uid == 0 }
        if !canWait, notifyBacklog.isOutOfTime { return true }
        if let owner = try attempt(of: sender.pid) { return owner == record.attempt }
        // Nothing more can be found out about this sender either.
        let environments = descendants.environments
        let isUnreadable = environments.lacksHelper || !environments.canRead(uid: sender.uid)
        if groups == nil, isUnreadable, sender.uid == record.uid { return true }
        if let process = try ProcessRecord.read(sender.pid), !process.hasEnded { return false }
        return true
    }

    /// Returns whether a sender is root or the user of an attempt. Messages of all other users are ignored.
    private func isUser(_ sender: Credentials, of record: AttemptRecord) -> Bool {
        sender.uid == record.uid || sender.uid == 0
    }

    private func apply(_ message: String, to record: AttemptRecord) {
        let update = OperationUpdate(message: message)
        if update.isEmpty { return }
        record.update.merge(update)
        record.unreportedUpdate.merge(update)
        if let duration = update.extendTimeout {
            let end = Clock.read().monotonic.clampedSum(duration)
            record.extendedUntil = max(record.extendedUntil ?? end, end)
        }
        updatedAttempts.insert(record.attempt)
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
        return try descendants.attempt(ofSender: pid, mains: mains)
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

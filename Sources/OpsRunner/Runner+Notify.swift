internal import OpsSystem
internal import OpsSystemd

/// What operations say of themselves.
extension Runner {
    /// So that a flood of messages cannot hold up the rest; what is left waits for the next turn.
    private static let messagesPerTurn = 512

    // MARK: Lines

    /// The line of the operation's slot; `nil`: it has none, and speaks where all such do.
    func line(for request: LaunchRequest) throws(SpawnError) -> NotifyLine? {
        if request.slot < 0 { return nil }
        do throws(SystemError) {
            return try lines.take(slot: request.slot, for: request.attempt) { (line) throws(SystemError) in
                try watch(line)
            }
        } catch {
            throw SpawnError(step: "notify socket", errno: error.errno)
        }
    }

    func watch(_ line: NotifyLine) throws(SystemError) {
        try line.watch(in: loop) { [unowned self] line in hear(line) }
    }

    func giveBack(_ line: NotifyLine?, slot: Int32) {
        guard let line else { return }
        noting { () throws(SystemError) in try lines.giveBack(line, slot: slot) }
    }

    /// What is left of it may still speak, to nobody.
    func retireLine(of record: AttemptRecord) {
        guard let line = record.line else { return }
        record.line = nil
        noting { () throws(SystemError) in try lines.retire(line, slot: record.slot) }
    }

    // MARK: Hearing

    /// Hears all that an operation has said until now.
    func hear(_ record: AttemptRecord) {
        if let line = record.line { hear(line) }
    }

    private func hear(_ line: NotifyLine) {
        noting { () throws(SystemError) in
            for _ in 0..<Runner.messagesPerTurn {
                guard let message = try line.socket.receive() else { return }
                guard let attempt = line.attempt, let record = table[attempt], record.isAlive,
                    try isSpeaker(message.sender, for: record)
                else { continue }
                take(message.text, from: record)
            }
            try line.setListening(false)
            muted.append(line)
        }
    }

    /// Whether this is a process of the operation. One that has ended can no longer be asked: its user must do.
    private func isSpeaker(_ sender: Credentials, for record: AttemptRecord) throws(SystemError) -> Bool {
        guard sender.pid > 0, isUser(sender, of: record) else { return false }
        // As root `systemd-notify` speaks in the name of its parent, and the parent of an orphan is this process.
        if sender.pid == Identity.pid { return sender.uid == 0 }
        if let owner = try attempt(of: sender.pid) { return owner == record.attempt }
        if let process = try ProcessRecord.read(sender.pid), !process.hasEnded { return false }
        return true
    }

    /// Whether a message counts at all: a process that has become another user's, or claims to be of the operation and
    /// is not its user's, says nothing in its name.
    private func isUser(_ sender: Credentials, of record: AttemptRecord) -> Bool {
        sender.uid == record.uid || sender.uid == 0
    }

    /// Hears those that speak where all do; only processes of a living operation are heard.
    func listen() {
        noting { () throws(SystemError) in
            while true {
                if heard == Runner.messagesPerTurn {
                    try notifySource?.setInterest([])
                    return
                }
                guard let message = try notify.receive() else { return }
                heard += 1
                guard let attempt = try attempt(of: message.sender.pid), let record = table[attempt], record.isAlive,
                    isUser(message.sender, of: record)
                else { continue }
                take(message.text, from: record)
            }
        }
    }

    private func take(_ message: String, from record: AttemptRecord) {
        let told = Told(message: message)
        if told.isEmpty { return }
        record.told.merge(told)
        record.untold.merge(told)
        toldAttempts.insert(record.attempt)
    }

    /// Listens again after a flood.
    func resumeListening() {
        if heard == Runner.messagesPerTurn {
            noting { () throws(SystemError) in try notifySource?.setInterest(.readable) }
        }
        heard = 0
        if muted.isEmpty { return }
        let waiting = muted
        muted = []
        for line in waiting { noting { () throws(SystemError) in try line.setListening(true) } }
    }

    /// Whose process this is; `nil`: nobody can say.
    private func attempt(of pid: Int32) throws(SystemError) -> Attempt? {
        guard pid > 0 else { return nil }
        if let attempt = mains[pid] { return attempt }
        if let groups {
            guard let name = try groups.member(pid) else { return nil }
            if let attempt = Attempt(groupName: name) { return attempt }
            return try SharedGroups.attempt(in: groups.group(name))
        }
        return try descent.owner(ofDescendant: pid, mains: mains)
    }

    // MARK: Telling

    /// Tells opsd what was said since the last time; kept while there is none.
    func reportTold() {
        guard let connection, connection.isGreeted, !toldAttempts.isEmpty else { return }
        let attempts = toldAttempts.sorted()
        toldAttempts = []
        for attempt in attempts {
            guard let record = table[attempt], !record.untold.isEmpty else { continue }
            report(.told(attempt, record.untold))
            record.untold = Told()
        }
    }
}

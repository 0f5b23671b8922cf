internal import OpsLinux

/// What operations say of themselves.
extension Runner {
    /// So that a flood of messages cannot hold up the rest; what is left waits for the next turn.
    private static let messagesPerTurn = 512

    /// Hears the messages that wait; only processes of a living operation are heard.
    func listen() {
        noting { () throws(SystemError) in
            while true {
                if heard == Runner.messagesPerTurn {
                    try notifySource?.setInterest([])
                    return
                }
                guard let message = try notify.receive() else { return }
                heard += 1
                guard let attempt = try attempt(of: message.sender.pid), let record = table[attempt] else { continue }
                let told = Told(message: message.text)
                if told.isEmpty || !record.isAlive { continue }
                record.told.merge(told)
                record.untold.merge(told)
                toldAttempts.insert(attempt)
            }
        }
    }

    /// Listens again after a flood.
    func resumeListening() {
        if heard == Runner.messagesPerTurn {
            noting { () throws(SystemError) in try notifySource?.setInterest(.readable) }
        }
        heard = 0
    }

    /// Whose process this is. One that has ended and was waited for can no longer be asked; `systemd-notify` waits
    /// until its message was read.
    private func attempt(of pid: Int32) throws(SystemError) -> Attempt? {
        guard pid > 0 else { return nil }
        if let attempt = mains[pid] { return attempt }
        if let groups { return try groups.member(pid).flatMap { Attempt(groupName: $0) } }
        return try descent.owner(ofDescendant: pid, mains: mains)
    }

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

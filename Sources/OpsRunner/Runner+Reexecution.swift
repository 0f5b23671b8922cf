internal import OpsSystem

/// Upgrade in place: the process goes on as the program that is now installed.
extension Runner {
    /// Returns only when that failed, and then nothing has changed. opsd connects again and finds the same instance.
    func reexecute() {
        wantsReexecution = false
        noting { () throws(SystemError) in
            let program = try Program.path()
            // It finds none that nobody is in.
            sharedGroups.removeVacant()
            var inheritance = Inheritance(
                instance: instance, defaults: defaults, records: Array(table.values), leftGroups: leftGroups.all,
                reaping: reaping, logs: logs, lock: lock.descriptor.rawValue, listener: listener.rawValue,
                notify: notify.descriptor.rawValue, notifyAddress: notify.address)
            inheritance.lines = inheritedLines
            inheritance.startups = Array(startups.values)
            try inheritance.write(to: options.state)
            try setInherited(true)
            let error = Program.execute(program, arguments: [program] + options.arguments)
            try setInherited(false)
            try Files.remove(options.state + "/" + Inheritance.fileName)
            throw error
        }
    }

    private func setInherited(_ inherited: Bool) throws(SystemError) {
        try lock.descriptor.setInherited(inherited)
        try listener.setInherited(inherited)
        try notify.descriptor.setInherited(inherited)
        for line in allLines { try line.socket.descriptor.setInherited(inherited) }
        for startup in startups.values { try startup.process.report.setInherited(inherited) }
        try logs.setInherited(inherited)
    }

    /// Those that wait for the next operation of their slot, and those of operations.
    private var allLines: [NotifyLine] {
        lines.bySlot.values.filter { $0.attempt == nil } + table.values.compactMap(\.line)
    }

    private var inheritedLines: [Inheritance.Line] {
        func inherited(_ line: NotifyLine, _ slot: Int32, _ uid: UInt32) -> Inheritance.Line {
            Inheritance.Line(
                address: line.socket.address, descriptor: line.socket.descriptor.rawValue, slot: slot,
                isCurrent: lines.bySlot[slot] === line, attempt: line.attempt, uid: uid)
        }
        let waiting = lines.bySlot.filter { $0.value.attempt == nil }.map { inherited($0.value, $0.key, 0) }
        return waiting
            + table.values.compactMap { record in record.line.map { inherited($0, record.slot, record.uid) } }
    }

    func restore(_ inherited: Inheritance.Line) throws(SystemError) {
        let socket = NotifySocket(address: inherited.address, descriptor: Descriptor(owning: inherited.descriptor))
        try socket.descriptor.setInherited(false)
        let line = NotifyLine(socket, of: inherited.attempt)
        if inherited.isCurrent { lines.restore(line, slot: inherited.slot) }
        if let attempt = inherited.attempt, let record = table[attempt] {
            record.line = line
            record.slot = inherited.slot
            record.uid = inherited.uid
        }
        try watch(line)
    }

    /// Takes up a record of the program before this one.
    func restore(_ record: AttemptRecord) {
        table[record.attempt] = record
        guard record.isAlive else { return }
        if record.hasRunningMain { mains[record.process.pid] = record.attempt }
        if !record.untold.isEmpty { toldAttempts.insert(record.attempt) }
    }

    /// Follows the tree of a restored record, whose user is known once its line is there.
    func resumeDescent(of record: AttemptRecord) {
        guard record.isAlive, record.tree == .descent else { return }
        descent.begin(record.attempt, main: record.process.pid, socket: nil, uid: record.uid)
    }
}

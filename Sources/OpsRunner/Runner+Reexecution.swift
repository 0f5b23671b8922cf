internal import OpsLinux

/// Upgrade in place: the process goes on as the program that is now installed.
extension Runner {
    /// Returns only when that failed, and then nothing has changed. opsd connects again and finds the same instance.
    func reexecute() {
        wantsReexecution = false
        noting { () throws(SystemError) in
            let program = try Program.path()
            let inheritance = Inheritance(
                instance: instance, defaults: defaults, records: Array(table.values), leftGroups: leftGroups,
                reaping: reaping, logs: logs, lock: lock.descriptor.rawValue, listener: listener.rawValue,
                notify: notify.descriptor.rawValue, notifyAddress: notify.address)
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
    }

    /// Takes up a record of the program before this one.
    func restore(_ record: AttemptRecord) {
        table[record.attempt] = record
        guard record.isAlive else { return }
        if record.hasRunningMain { mains[record.process.pid] = record.attempt }
        switch record.tree {
        case .none: break
        case .descent: descent.begin(record.attempt, main: record.process.pid)
        case .group: if !record.hasRunningMain { watchRest(of: record) }
        }
        if !record.untold.isEmpty { toldAttempts.insert(record.attempt) }
    }
}

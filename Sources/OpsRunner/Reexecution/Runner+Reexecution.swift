internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSystem
internal import OpsSystemd

/// Upgrade in place: the process executes the program that is now installed.
extension Runner {
    /// Becomes the installed program. Returns only if that failed; then nothing has changed. opsd connects again and finds
    /// the same instance.
    func reexecute() {
        wantsReexecution = false
        logErrors {
            let program = try Program.path()
            // The new program starts with an empty pool.
            groupPool.removeVacant()
            try outputDirectories.removeEmpty()
            var state = ReexecutionState(
                instance: instance, defaults: defaults, records: Array(table.values),
                leftoverGroups: leftoverGroups.all,
                staleTrees: staleTrees, logs: logs, outputDirectories: outputDirectories.all,
                lock: lock.descriptor.rawValue, listener: listener.socket.rawValue,
                notify: notify.descriptor.rawValue, notifyAddress: notify.address)
            state.slotSockets = savedSockets
            state.startups = Array(startups.values)
            try state.write(to: options.state)
            try setInherited(true)
            let error = Program.execute(program, arguments: [program] + options.arguments)
            try setInherited(false)
            try Files.remove(options.state + "/" + ReexecutionState.fileName)
            throw error
        }
    }

    private func setInherited(_ inherited: Bool) throws(SystemError) {
        try lock.descriptor.setInherited(inherited)
        try listener.socket.setInherited(inherited)
        try notify.descriptor.setInherited(inherited)
        for socket in allSockets { try socket.socket.descriptor.setInherited(inherited) }
        for startup in startups.values { try startup.process.report.setInherited(inherited) }
        try logs.setInherited(inherited)
    }

    /// Slot sockets that wait for the next operation, and those of living attempts.
    private var allSockets: [SlotNotifySocket] {
        slotSockets.bySlot.values.filter { $0.attempt == nil } + table.values.compactMap(\.notifySocket)
    }

    private var savedSockets: [ReexecutionState.SlotSocket] {
        func saved(_ socket: SlotNotifySocket, _ slot: Int32, _ uid: UInt32) -> ReexecutionState.SlotSocket {
            ReexecutionState.SlotSocket(
                address: socket.socket.address, descriptor: socket.socket.descriptor.rawValue, slot: slot,
                isCurrent: slotSockets.bySlot[slot] === socket, attempt: socket.attempt, uid: uid)
        }
        let waiting = slotSockets.bySlot.filter { $0.value.attempt == nil }.map { saved($0.value, $0.key, 0) }
        return waiting
            + table.values.compactMap { record in record.notifySocket.map { saved($0, record.slot, record.uid) } }
    }

    func restore(_ saved: ReexecutionState.SlotSocket) throws(SystemError) {
        let notify = NotifySocket(address: saved.address, descriptor: Descriptor(owning: saved.descriptor))
        try notify.descriptor.setInherited(false)
        let socket = SlotNotifySocket(notify, of: saved.attempt)
        if saved.isCurrent { slotSockets.restore(socket, slot: saved.slot) }
        if let attempt = saved.attempt, let record = table[attempt] {
            record.notifySocket = socket
            record.slot = saved.slot
            record.uid = saved.uid
        }
        try watch(socket)
    }

    /// Restores a record of the program before this one.
    func restore(_ record: AttemptRecord) {
        table[record.attempt] = record
        guard record.isAlive else { return }
        if record.hasRunningMain { mains[record.process.pid] = record.attempt }
        if !record.unreportedUpdate.isEmpty { updatedAttempts.insert(record.attempt) }
    }

    /// Tracks the tree of a restored record. Its user is known only after its notify socket was restored.
    func resumeTracking(of record: AttemptRecord) {
        guard record.isAlive, record.tree == .descendants else { return }
        descendants.begin(record.attempt, main: record.process.pid, socket: nil, uid: record.uid)
    }
}

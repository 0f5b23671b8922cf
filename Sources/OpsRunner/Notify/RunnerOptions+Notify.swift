internal import OpsSystem

/// Addresses of notify sockets.
extension RunnerOptions {
    /// Returns the address of the shared notify socket: a file that every operation can reach, in the state directory or,
    /// since root's state is closed to others, beneath /run. If neither can be used it is an abstract address with a
    /// random part. Files are preferred: `systemd-notify` understands `@`, many scripts with `socat` or Python do not.
    func notifyAddress(instance: String) throws(SystemError) -> String {
        let own = state + "/" + RunnerOptions.notifyName
        if Identity.uid != 0, isShortEnough(own) { return own }
        for path in [own, try sharedDirectory() + "/" + RunnerOptions.notifyName]
        where isShortEnough(path) && Files.isReachableByAll(path) {
            return path
        }
        return "@opsd/\(instance)/notify"
    }

    /// Returns the common beginning of the addresses of slot sockets.
    func slotSocketPrefix(notify: String) -> String {
        guard !notify.hasPrefix("@") else { return notify + "-" }
        return notify.dropLast(RunnerOptions.notifyName.count) + RunnerOptions.slotSocketName
    }

    /// Removes the socket files of a runner that was killed.
    func removeOldSlotSockets(notify: String) throws(SystemError) {
        guard let directory = directory(of: notify) else { return }
        for name in try Files.list(directory) where name.hasPrefix(RunnerOptions.slotSocketName) {
            try Files.remove(directory + "/" + name)
        }
    }

    /// Removes the empty directory beneath /run, at the end of the runner.
    func removeSharedDirectory(notify: String) throws(SystemError) {
        guard let directory = directory(of: notify), directory != state else { return }
        try Files.removeDirectory(directory)
    }

    private func directory(of notify: String) -> String? {
        notify.hasPrefix("@") ? nil : String(notify.dropLast(RunnerOptions.notifyName.count + 1))
    }

    /// Returns a directory for this state directory alone. All users may pass through it; root alone lists and writes it.
    private func sharedDirectory() throws(SystemError) -> String {
        let directory = "/run/" + (try groupName())
        // If /run is missing or read-only, an abstract address is used.
        try? Files.makePrivateDirectory(directory, mode: 0o711)
        return directory
    }

    private func isShortEnough(_ path: String) -> Bool {
        // Room for the random part of a slot socket.
        path.utf8.count + 16 <= UnixSocket.pathLimit
    }

    private static let notifyName = "notify.sock"
    private static let slotSocketName = "notify-"
}

internal import OpsSystem

/// Where operations speak to the runner.
extension RunnerOptions {
    /// A file that every operation can reach: in the state directory, else beneath /run, since root's state is closed
    /// to others. Else an abstract address, whose random part nobody can take beforehand: `systemd-notify` knows what
    /// `@` means, a script with `socat` or the few lines of Python that everybody writes does not.
    func notifyAddress(instance: String) throws(SystemError) -> String {
        let own = state + "/" + RunnerOptions.notifyName
        if Identity.uid != 0, isShortEnough(own) { return own }
        for path in [own, try sharedDirectory() + "/" + RunnerOptions.notifyName]
        where isShortEnough(path) && Files.isReachableByAll(path) {
            return path
        }
        return "@opsd/\(instance)/notify"
    }

    /// What the addresses of notify lines begin with, beside that one.
    func linePrefix(notify: String) -> String {
        guard !notify.hasPrefix("@") else { return notify + "-" }
        return notify.dropLast(RunnerOptions.notifyName.count) + RunnerOptions.lineName
    }

    /// Clears away the files of a runner that was killed.
    func removeOldLines(notify: String) throws(SystemError) {
        guard let directory = directory(of: notify) else { return }
        for name in try Files.list(directory) where name.hasPrefix(RunnerOptions.lineName) {
            try Files.remove(directory + "/" + name)
        }
    }

    /// The end of it all: nothing is in there any more.
    func removeSharedDirectory(notify: String) throws(SystemError) {
        guard let directory = directory(of: notify), directory != state else { return }
        try Files.removeDirectory(directory)
    }

    private func directory(of notify: String) -> String? {
        notify.hasPrefix("@") ? nil : String(notify.dropLast(RunnerOptions.notifyName.count + 1))
    }

    /// Of this state directory alone; passed through by all, listed and written by root.
    private func sharedDirectory() throws(SystemError) -> String {
        let directory = "/run/" + (try groupName())
        // Where /run is missing or closed to us there is still the abstract address.
        try? Files.makePrivateDirectory(directory, mode: 0o711)
        return directory
    }

    private func isShortEnough(_ path: String) -> Bool {
        // Room for the random part of a line.
        path.utf8.count + 16 <= UnixSocket.pathLimit
    }

    private static let notifyName = "notify.sock"
    private static let lineName = "notify-"
}

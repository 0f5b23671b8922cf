internal import COpsSpawn
internal import Glibc

/// What this process does with signals; operations start with everything at its default.
public enum Signals {
    public static let hangUp = SIGHUP
    public static let interrupt = SIGINT
    public static let kill = SIGKILL
    public static let pipe = SIGPIPE
    public static let terminate = SIGTERM
    public static let child = SIGCHLD
    /// Somebody wants to open a file on which this process has a lease.
    public static let leaseWanted = SIGIO
    public static let resume = SIGCONT
    public static let stop = SIGSTOP
    /// A file would become larger than this process's limit allows.
    public static let fileSize = SIGXFSZ

    public static func ignore(_ number: Int32) throws(SystemError) {
        try retrying("ignore signal \(number)") { ops_ignore_signal(number) }
    }

    public static func restoreDefault(_ number: Int32) throws(SystemError) {
        try retrying("reset signal \(number)") { ops_default_signal(number) }
    }

    /// Keeps a signal pending for `EventLoop.watchSignal`.
    package static func block(_ number: Int32) throws(SystemError) {
        try retrying("block signal \(number)") { ops_block_signal(number) }
    }

    /// Sends to one process, or with a negative number to a process group; `false` when there is none, or none that
    /// this process may signal (one that has become another user's): the others of a tree must be reached all the same.
    @discardableResult
    static func send(_ number: Int32, to pid: Int32) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try retrying("kill \(pid)") { Glibc.kill(pid, number) }
            return true
        } catch {
            if error.errno == ESRCH || error.errno == EPERM { return false }
            throw error
        }
    }

    /// Sends to this very process: not to another that has been given its number since it was looked at.
    @discardableResult
    public static func send(_ signal: Int32, to process: ProcessRecord) throws(SystemError) -> Bool {
        let number: Int32
        do throws(SystemError) {
            number = try retrying("pidfd_open \(process.pid)") { ops_pidfd(process.pid) }
        } catch {
            if error.errno == ESRCH { return false }
            // Before Linux 5.3, or without a descriptor to spare: as sure as one look can make it.
            guard try process.isThere() else { return false }
            return try send(signal, to: process.pid)
        }
        let handle = Descriptor(owning: number)
        guard try process.isThere() else { return false }
        do throws(SystemError) {
            try retrying("signal \(process.pid)") { ops_pidfd_signal(handle.rawValue, signal) }
            return true
        } catch {
            if error.errno == ESRCH || error.errno == EPERM { return false }
            throw error
        }
    }
}

extension ProcessRecord {
    /// Whether its number is still its own.
    fileprivate func isThere() throws(SystemError) -> Bool {
        try ProcessRecord.read(pid)?.startTicks == startTicks
    }
}

internal import COpsSpawn
internal import Glibc

/// Signals. Operations start with every signal at its default.
public enum Signals {
    public static let hangUp = SIGHUP
    public static let interrupt = SIGINT
    public static let kill = SIGKILL
    public static let pipe = SIGPIPE
    public static let terminate = SIGTERM
    public static let child = SIGCHLD
    /// Another process wants to open a file on which this process has a lease.
    public static let leaseWanted = SIGIO
    public static let resume = SIGCONT
    public static let stop = SIGSTOP
    /// A file would become larger than the limit of this process allows.
    public static let fileSize = SIGXFSZ

    public static func ignore(_ number: Int32) throws(SystemError) {
        try retrying("ignore signal \(number)") { ops_ignore_signal(number) }
    }

    public static func restoreDefault(_ number: Int32) throws(SystemError) {
        try retrying("reset signal \(number)") { ops_default_signal(number) }
    }

    /// Blocks a signal, so that it stays pending for `EventLoop.watchSignal`.
    package static func block(_ number: Int32) throws(SystemError) {
        try retrying("block signal \(number)") { ops_block_signal(number) }
    }

    /// Sends a signal to a process, or with a negative number to a process group. Returns `false` if there is none, or if
    /// this process may not signal it (it has become another user's): other processes of its tree are still signalled.
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

    /// Sends a signal to a process, but not to another one that has got its number since it was read.
    @discardableResult
    public static func send(_ signal: Int32, to process: ProcessRecord) throws(SystemError) -> Bool {
        let number: Int32
        do throws(SystemError) {
            number = try retrying("pidfd_open \(process.pid)") { ops_pidfd(process.pid) }
        } catch {
            if error.errno == ESRCH { return false }
            // Before Linux 5.3, or without a free descriptor: the process is checked just before the signal.
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
    /// Returns whether the process still has its number.
    fileprivate func isThere() throws(SystemError) -> Bool {
        try ProcessRecord.read(pid)?.startTicks == startTicks
    }
}

internal import CSystemd
internal import Glibc
public import OpsSystem

/// Messages to the service manager. Without one nothing is done.
public enum Service {
    /// Sends lines such as `READY=1\nSTATUS=...`. Returns `false` if there is no service manager.
    @discardableResult
    public static func notify(_ state: String) throws(SystemError) -> Bool {
        try systemd("sd_notify", unsafe sd_notify(0, state)) > 0
    }

    /// Sends `RELOADING=1` with the instant that systemd requires. `READY=1` has to follow.
    public static func notifyReloading() throws(SystemError) {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        try notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// Returns the sockets of socket activation, which the caller owns. They can be claimed once.
    public static func claimListeningDescriptors() throws(SystemError) -> Range<Int32> {
        let count = try systemd("sd_listen_fds", sd_listen_fds(1))
        return SD_LISTEN_FDS_START..<SD_LISTEN_FDS_START + count
    }
}

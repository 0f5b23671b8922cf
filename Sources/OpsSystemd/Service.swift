internal import CSystemd
internal import Glibc
public import OpsSystem

/// The talk with the service manager; everything here is a quiet no-op without one.
public enum Service {
    /// Sends lines such as `READY=1\nSTATUS=...`; `false` when nobody listens.
    @discardableResult
    public static func notify(_ state: String) throws(SystemError) -> Bool {
        try systemd("sd_notify", unsafe sd_notify(0, state)) > 0
    }

    /// `RELOADING=1` with the instant systemd wants beside it; follow it with `READY=1`.
    public static func notifyReloading() throws(SystemError) {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        try notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// The sockets handed over by socket activation, each the caller's to own; they can be taken once.
    public static func takeListeningDescriptors() throws(SystemError) -> Range<Int32> {
        let count = try systemd("sd_listen_fds", sd_listen_fds(1))
        return SD_LISTEN_FDS_START..<SD_LISTEN_FDS_START + count
    }
}

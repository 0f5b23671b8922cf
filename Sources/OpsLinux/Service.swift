internal import CSystemd
internal import Glibc

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

    /// The sockets handed over by socket activation, with their names; each is the caller's to own, and can be
    /// taken once.
    public static func takeListeningDescriptors() throws(SystemError) -> [(descriptor: Int32, name: String)] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = try systemd("sd_listen_fds", unsafe sd_listen_fds_with_names(1, &names))
        guard let names = unsafe names else { return [] }
        defer { unsafe free(names) }
        var taken: [(descriptor: Int32, name: String)] = []
        for index in 0..<Int(count) {
            guard let name = unsafe names[index] else { continue }
            taken.append((SD_LISTEN_FDS_START + Int32(index), unsafe String(cString: name)))
            unsafe free(name)
        }
        return taken
    }
}

internal import Glibc

/// Facts about the machine.
public enum Machine {
    /// Number of processors that are online.
    public static var processors: Int32 { max(1, Int32(truncatingIfNeeded: sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

    /// Returns the load average of the last minute.
    public static func load() throws(SystemError) -> Double {
        let text = String(decoding: try Files.read("/proc/loadavg", limit: 256), as: UTF8.self)
        guard let first = text.split(separator: " ").first, let load = Double(first) else {
            throw SystemError("read /proc/loadavg", errno: EINVAL)
        }
        return load
    }

    /// Returns the memory that a new process could use without swapping, in bytes.
    public static func availableMemory() throws(SystemError) -> Int64 {
        let text = String(decoding: try Files.read("/proc/meminfo", limit: 64 << 10), as: UTF8.self)
        for line in text.split(separator: "\n") where line.hasPrefix("MemAvailable:") {
            let words = line.split(separator: " ")
            if words.count >= 2, let kibibytes = Int64(words[1]) { return kibibytes << 10 }
        }
        throw SystemError("read /proc/meminfo", errno: EINVAL)
    }
}

/// Identification of the present boot of the machine.
public enum Boot {
    public static func identifier() throws(SystemError) -> String {
        try Files.readFirstLine("/proc/sys/kernel/random/boot_id")
    }
}

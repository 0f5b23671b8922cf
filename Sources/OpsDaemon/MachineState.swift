internal import Glibc
internal import OpsLinux

/// What conditions ask of the machine and what answers at once.
enum MachineState {
    /// The load average of the last minute.
    static func load() throws(SystemError) -> Double {
        let text = String(decoding: try Files.read("/proc/loadavg", limit: 256), as: UTF8.self)
        guard let first = text.split(separator: " ").first, let load = Double(first) else {
            throw SystemError("read /proc/loadavg", errno: EINVAL)
        }
        return load
    }

    /// Bytes a new process could use without swapping.
    static func availableMemory() throws(SystemError) -> Int64 {
        let text = String(decoding: try Files.read("/proc/meminfo", limit: 64 << 10), as: UTF8.self)
        for line in text.split(separator: "\n") where line.hasPrefix("MemAvailable:") {
            let words = line.split(separator: " ")
            if words.count >= 2, let kibibytes = Int64(words[1]) { return kibibytes << 10 }
        }
        throw SystemError("read /proc/meminfo", errno: EINVAL)
    }
}

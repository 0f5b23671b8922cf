internal import Glibc

/// What /proc says of a process.
public struct ProcessRecord: Hashable, Sendable {
    public var pid: Int32
    public var parent: Int32
    public var session: Int32
    /// One letter: R, S, D, T (stopped), Z (zombie), X (dead).
    public var state: UInt8
    /// Clock ticks since boot: with the pid, this names a process for good.
    public var startTicks: UInt64

    /// Dead, though perhaps not yet waited for.
    public var hasEnded: Bool { state == UInt8(ascii: "Z") || state == UInt8(ascii: "X") }

    /// `nil`: there is no such process, or none that this one may see (another user's, where /proc hides those).
    public static func read(_ pid: Int32) throws(SystemError) -> ProcessRecord? {
        do throws(SystemError) {
            guard let bytes = try Files.readIfPresent("/proc/\(pid)/stat", limit: 4096) else { return nil }
            return ProcessRecord(pid: pid, stat: bytes)
        } catch {
            if error.errno == EPERM || error.errno == EACCES { return nil }
            throw error
        }
    }

    /// The fields of `/proc/PID/stat`; the name in parentheses may hold anything, so the last one counts.
    init?(pid: Int32, stat: [UInt8]) {
        guard let close = stat.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = stat[(close + 1)...].split(separator: UInt8(ascii: " "))
        // After the name: state, parent, group, session, ... ; the start time is field 22 of the line.
        guard fields.count > 19, let state = fields[0].first,
            let parent = Int32(text(fields[1])), let session = Int32(text(fields[3])),
            let startTicks = UInt64(text(fields[19]))
        else { return nil }
        self.pid = pid
        self.parent = parent
        self.session = session
        self.state = state
        self.startTicks = startTicks
    }

    /// Every process of the machine that this one may see.
    public static func all() throws(SystemError) -> [ProcessRecord] {
        var records: [ProcessRecord] = []
        for name in try Files.list("/proc") {
            guard let pid = Int32(name), let record = try read(pid) else { continue }
            records.append(record)
        }
        return records
    }

    /// The environment the process was started with; empty where this process may not look.
    public static func environment(of pid: Int32) -> [String] {
        // A process that has gone, is a kernel thread or is not ours has none to show: no error of ours.
        guard let bytes = try? Files.readIfPresent("/proc/\(pid)/environ", limit: 4 << 20) else { return [] }
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }
}

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

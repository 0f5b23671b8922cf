internal import COpsSpawn
internal import Glibc
public import OpsModel

/// A child that has ended and been waited for, with what it used.
public struct EndedChild: Hashable, Sendable {
    public var pid: Int32
    public var status: ProcessExit.Status
    public var usage: ProcessUsage
}

/// Child processes of this process.
public enum Children {
    /// Waits for a child that has ended already, if there is one. To be called after each SIGCHLD until it returns `nil`.
    public static func collectEnded() throws(SystemError) -> EndedChild? { try wait(0, blocks: 0) }

    /// Sleeps until a child has ended; `nil`: it is no child of this process.
    public static func wait(for pid: Int32) throws(SystemError) -> EndedChild? { try wait(pid, blocks: 1) }

    /// Sleeps until a child has ended, at most until `deadline`. Returns whether it has ended: then it must be waited
    /// for.
    public static func hasEnded(_ pid: Int32, by deadline: MonotonicInstant) throws(SystemError) -> Bool {
        let number: Int32
        do throws(SystemError) {
            number = try retrying("pidfd_open \(pid)") { ops_pidfd(pid) }
        } catch {
            // Before Linux 5.3, or without a free descriptor: nothing limits the time.
            try retrying("waitid") { waitid(P_PID, id_t(pid), nil, WEXITED | WNOWAIT) }
            return true
        }
        let handle = Descriptor(owning: number)
        let left = (deadline - Clock.read().monotonic).milliseconds
        return try handle.waitUntil(.readable, milliseconds: Int32(clamping: max(left, 0)))
    }

    /// Returns whether a child has not ended yet, for a process that ignores SIGCHLD and so does not wait for children.
    public static func isRunning(_ pid: Int32) -> Bool {
        var status: Int32 = 0
        return unsafe waitpid(pid, &status, WNOHANG) == 0
    }

    /// Makes orphans among the descendants children of this process from now on.
    public static func adoptOrphans() throws(SystemError) {
        try retrying("become subreaper") { ops_become_subreaper() }
    }

    /// Returns every child of this (single-threaded) process, dead ones included until they were waited for.
    public static func all() throws(SystemError) -> [Int32] {
        let own = Identity.pid
        // The kernel appends to this list and only our own waiting shortens it, so no child is missed while it is read.
        guard let bytes = try Files.readIfPresent("/proc/self/task/\(own)/children", limit: 64 << 20) else {
            return try ProcessRecord.all().filter { $0.parent == own }.map(\.pid)
        }
        return bytes.split(separator: UInt8(ascii: " ")).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
    }

    private static func wait(_ pid: Int32, blocks: Int32) throws(SystemError) -> EndedChild? {
        var exit = ops_exit()
        let found = try retrying("waitid") { unsafe ops_wait_child(pid, blocks, &exit) }
        guard found > 0 else { return nil }
        return EndedChild(
            pid: exit.pid, status: exit.by_signal == 0 ? .code(exit.status) : .signal(exit.status),
            usage: ProcessUsage(
                userMicroseconds: exit.user_microseconds, systemMicroseconds: exit.system_microseconds,
                maxResidentBytes: exit.max_resident_bytes))
    }
}

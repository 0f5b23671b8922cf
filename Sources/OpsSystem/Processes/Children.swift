internal import COpsSpawn
internal import Glibc

/// A child that has ended and been waited for, with what it used.
public struct EndedChild: Hashable, Sendable {
    public enum Status: Hashable, Sendable {
        case code(Int32)
        case signal(Int32)
    }
    public var pid: Int32
    public var status: Status
    public var userMicroseconds: Int64
    public var systemMicroseconds: Int64
    public var maxResidentBytes: Int64
}

/// The processes this one is the parent of.
public enum Children {
    /// The next child that has ended, if any has; call until `nil` after each SIGCHLD.
    public static func takeEnded() throws(SystemError) -> EndedChild? { try take(0, wait: 0) }

    /// Sleeps until this child has ended; `nil`: it is no child of ours.
    public static func wait(for pid: Int32) throws(SystemError) -> EndedChild? { try take(pid, wait: 1) }

    /// Whether this child has not ended yet, where nobody waits for children: SIGCHLD is ignored.
    public static func isRunning(_ pid: Int32) -> Bool {
        var status: Int32 = 0
        return unsafe waitpid(pid, &status, WNOHANG) == 0
    }

    /// Orphans among the descendants become children of this process from now on.
    public static func adoptOrphans() throws(SystemError) {
        try retrying("become subreaper") { ops_become_subreaper() }
    }

    /// Every child of this (single-threaded) process, dead ones included until they are waited for.
    public static func all() throws(SystemError) -> [Int32] {
        let own = Identity.pid
        // The kernel appends to this list and only our own waiting shortens it: nothing is missed while we read.
        guard let bytes = try Files.readIfPresent("/proc/self/task/\(own)/children", limit: 64 << 20) else {
            return try ProcessRecord.all().filter { $0.parent == own }.map(\.pid)
        }
        return bytes.split(separator: UInt8(ascii: " ")).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
    }

    private static func take(_ pid: Int32, wait: Int32) throws(SystemError) -> EndedChild? {
        var exit = ops_exit()
        let found = try retrying("waitid") { unsafe ops_wait_child(pid, wait, &exit) }
        guard found > 0 else { return nil }
        return EndedChild(
            pid: exit.pid, status: exit.by_signal == 0 ? .code(exit.status) : .signal(exit.status),
            userMicroseconds: exit.user_microseconds, systemMicroseconds: exit.system_microseconds,
            maxResidentBytes: exit.max_resident_bytes)
    }
}

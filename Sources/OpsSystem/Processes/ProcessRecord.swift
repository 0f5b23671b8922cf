internal import Glibc

/// Facts about a process, from /proc.
public struct ProcessRecord: Hashable, Sendable {
    public var pid: Int32
    public var parent: Int32
    public var session: Int32
    /// State, one letter: R, S, D, T (stopped), Z (zombie), X (dead).
    public var state: UInt8
    /// Start time in clock ticks since boot. Together with the pid it identifies the process.
    public var startTicks: UInt64

    /// True if the process is dead, even if its parent has not waited for it.
    public var hasEnded: Bool { state == UInt8(ascii: "Z") || state == UInt8(ascii: "X") }

    /// Reads the facts; `nil`: there is no such process, or this one may not see it (where /proc hides other users').
    public static func read(_ pid: Int32) throws(SystemError) -> ProcessRecord? {
        do throws(SystemError) {
            guard let bytes = try Files.readIfPresent("/proc/\(pid)/stat", limit: 4096) else { return nil }
            return ProcessRecord(pid: pid, stat: bytes)
        } catch {
            if error.errno == EPERM || error.errno == EACCES { return nil }
            throw error
        }
    }

    /// Reads the fields of `/proc/PID/stat`. The name may contain parentheses, so the last one ends it.
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

    /// Users whose rights a process has.
    public struct Users: Hashable, Sendable {
        public var real: UInt32
        public var effective: UInt32
        public init(real: UInt32, effective: UInt32) {
            self.real = real
            self.effective = effective
        }

        /// Returns whether the environment of the process certainly comes from this user. The environment of a setuid
        /// program comes from its real user, and that of a process of root may come from any user.
        public func environmentIsFrom(_ uid: UInt32) -> Bool { real == uid && (effective == uid || effective == 0) }
    }

    /// Returns the users of a process; `nil`: there is no such process, or this one may not see it.
    public static func users(of pid: Int32) throws(SystemError) -> Users? {
        do throws(SystemError) {
            guard let bytes = try Files.readIfPresent("/proc/\(pid)/status", limit: 65_536) else { return nil }
            return Users(status: bytes)
        } catch {
            if error.errno == EPERM || error.errno == EACCES { return nil }
            throw error
        }
    }

    /// Returns every process of the machine that this one may see.
    public static func all() throws(SystemError) -> [ProcessRecord] {
        var records: [ProcessRecord] = []
        for name in try Files.list("/proc") {
            guard let pid = Int32(name), let record = try read(pid) else { continue }
            records.append(record)
        }
        return records
    }

    /// Returns the environment that a process was started with; empty if this process may not read it. The user of the
    /// process can delay that for any time: see `EnvironmentReader`.
    public static func environment(of pid: Int32) -> [String] {
        // A process that has ended, a kernel thread or another user's process has no readable environment.
        guard let bytes = try? Files.readIfPresent("/proc/\(pid)/environ", limit: 4 << 20) else { return [] }
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension ProcessRecord.Users {
    /// Reads the line `Uid: real effective saved file-system` of `/proc/PID/status`.
    init?(status: [UInt8]) {
        let name = Array("Uid:".utf8)
        guard let line = status.split(separator: UInt8(ascii: "\n")).first(where: { $0.starts(with: name) }) else {
            return nil
        }
        let ids = line.dropFirst(name.count).split(separator: UInt8(ascii: "\t")).map { UInt32(text($0)) }
        guard ids.count == 4, let real = ids[0], let effective = ids[1] else { return nil }
        self.init(real: real, effective: effective)
    }
}

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

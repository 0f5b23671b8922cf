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

    /// Users whose rights a process has.
    public struct Users: Hashable, Sendable {
        public var real: UInt32
        public var effective: UInt32
        public init(real: UInt32, effective: UInt32) {
            self.real = real
            self.effective = effective
        }

        /// Whether the environment of the process can be believed to be what this user gave it. That of a setuid program
        /// comes from its real user, and a process of root's may have it from anyone.
        public func speak(for uid: UInt32) -> Bool { real == uid && (effective == uid || effective == 0) }
    }

    /// Returns `nil` where there is no such process, or none that this one may see.
    public static func users(of pid: Int32) throws(SystemError) -> Users? {
        do throws(SystemError) {
            guard let bytes = try Files.readIfPresent("/proc/\(pid)/status", limit: 65_536) else { return nil }
            return Users(status: bytes)
        } catch {
            if error.errno == EPERM || error.errno == EACCES { return nil }
            throw error
        }
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

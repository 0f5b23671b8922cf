internal import Glibc

/// Group of the cgroup v2 hierarchy. A process does not leave it by forking, nor by starting a session.
public struct ControlGroup: Hashable, Sendable {
    /// Directory of the group.
    public let path: String

    public init(path: String) { self.path = path }

    /// Makes the directory. An existing one without processes is used.
    public func make() throws(SystemError) {
        if unsafe mkdir(path, ControlGroupHierarchy.mode) == 0 { return }
        guard errno == EEXIST else { throw .last("make control group \(path)") }
        if try isPopulated() { throw SystemError("make control group \(path)", errno: EEXIST) }
    }

    /// Opens the directory, so that a process can be born in the group.
    public func open() throws(SystemError) -> Descriptor {
        let number = try retrying("open \(path)") { unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        return Descriptor(owning: number)
    }

    /// Removes the group, which proves that no process in it is alive. Returns `false` if one is.
    public func remove() throws(SystemError) -> Bool {
        if unsafe rmdir(path) == 0 || errno == ENOENT { return true }
        guard errno == EBUSY || errno == ENOTEMPTY else { throw .last("remove control group \(path)") }
        // Groups that the operation made below its own also keep the directory.
        if try isPopulated() { return false }
        for child in try children() where try !child.remove() { return false }
        return unsafe rmdir(path) == 0 || errno == ENOENT
    }

    /// Returns whether a process is in the group or below. `false` for a group that does not exist.
    public func isPopulated() throws(SystemError) -> Bool {
        try value("populated", in: "cgroup.events") == 1
    }

    /// File that changes whenever `isPopulated` may have changed.
    public var eventsPath: String { path + "/cgroup.events" }

    /// Opens a descriptor that is ready for `changed` after `isPopulated` may have changed, until `acknowledge`.
    public func openEvents() throws(SystemError) -> Descriptor {
        let file = eventsPath
        let number = try retrying("open \(file)") { unsafe Glibc.open(file, O_RDONLY | O_CLOEXEC) }
        return Descriptor(owning: number)
    }

    /// Reads the file, since the kernel reports a change until it was read through the descriptor that watches it.
    public static func acknowledge(_ events: borrowing Descriptor) throws(SystemError) {
        let number = events.rawValue
        var buffer = [UInt8](repeating: 0, count: 256)
        do throws(SystemError) {
            try retrying("read cgroup.events") { unsafe pread(number, &buffer, buffer.count, 0) }
        } catch {
            // The group has been removed.
            guard error.errno == ENODEV else { throw error }
        }
    }

    /// Returns the processes of the group and of all groups below.
    public func processes() throws(SystemError) -> [Int32] {
        var pids = try ownProcesses()
        for child in try children() { pids += try child.processes() }
        return pids
    }

    private func ownProcesses() throws(SystemError) -> [Int32] {
        do throws(SystemError) {
            let bytes = try Files.readIfPresent(path + "/cgroup.procs", limit: 64 << 20) ?? []
            return bytes.split(separator: UInt8(ascii: "\n")).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
        } catch {
            // ENODEV: the group was removed between opening and reading. EOPNOTSUPP: it is a group of threads, and a group
            // above names their processes.
            if error.errno == ENODEV || error.errno == EOPNOTSUPP { return [] }
            throw error
        }
    }

    /// Sends a signal to every process, those born meanwhile included (as far as a few passes see them). Appends the
    /// processes to `signalled`, also when it fails later.
    public func signal(_ number: Int32, recording signalled: inout [ProcessRecord]) throws(SystemError) {
        var known: Set<Int32> = []
        for _ in 0..<8 {
            var fresh: [ProcessRecord] = []
            for pid in try processes() where known.insert(pid).inserted {
                if let process = try ProcessRecord.read(pid) { fresh.append(process) }
            }
            if fresh.isEmpty { return }
            // A process that was read and is still in the group is not another one with the number of one that has ended.
            let members = Set(try processes())
            for process in fresh where members.contains(process.pid) {
                signalled.append(process)
                try Signals.send(number, to: process)
            }
        }
    }

    /// Kills all processes at once, also those that fork meanwhile.
    public func kill() throws(SystemError) {
        do throws(SystemError) {
            try Files.write("1", to: path + "/cgroup.kill")
        } catch {
            // Before Linux 5.14 there is no such file.
            guard error.errno == ENOENT else { throw error }
            var signalled: [ProcessRecord] = []
            try signal(SIGKILL, recording: &signalled)
        }
    }

    public func setFrozen(_ frozen: Bool) throws(SystemError) {
        try Files.write(frozen ? "1" : "0", to: path + "/cgroup.freeze")
    }

    /// Writes one of the files of the group: a limit of a controller.
    public func set(_ file: String, _ text: String) throws(SystemError) {
        try Files.write(text, to: path + "/" + file)
    }

    /// Reads one number of a file of `name number` lines, or (`name` empty) of a file of one number; `nil`: there is none.
    public func value(_ name: String, in file: String) throws(SystemError) -> Int64? {
        try values(in: file)[name]
    }

    /// Reads a file of `name number` lines. A number without a name has the empty name.
    public func values(in file: String) throws(SystemError) -> [String: Int64] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try Files.readIfPresent(path + "/" + file, limit: 65_536) ?? []
        } catch {
            // The group was removed between opening and reading.
            if error.errno == ENODEV { return [:] }
            throw error
        }
        var values: [String: Int64] = [:]
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
            guard let last = words.last, let number = Int64(last), words.count <= 2 else { continue }
            values[words.count == 2 ? words[0] : ""] = number
        }
        return values
    }

    /// Returns the groups directly below.
    func children() throws(SystemError) -> [ControlGroup] {
        var groups: [ControlGroup] = []
        do throws(SystemError) {
            for name in try Files.list(path) where Files.isDirectory(path + "/" + name) {
                groups.append(ControlGroup(path: path + "/" + name))
            }
        } catch {
            if error.errno == ENOENT { return [] }
            throw error
        }
        return groups
    }
}

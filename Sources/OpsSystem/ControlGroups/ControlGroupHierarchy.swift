internal import COpsSpawn
internal import Glibc

/// Part of the cgroup hierarchy in which this program may make groups of its own.
public struct ControlGroupHierarchy: Hashable, Sendable {
    /// Group below which all groups of this program are made.
    public let base: ControlGroup
    /// Controllers of the groups: "memory", "pids", "cpu", "io".
    public let controllers: Set<String>
    private let mount: String

    /// Mode of groups. A user who could list one into memory that never arrives would hold the lock of its directory, and
    /// nobody could make groups there.
    static let mode: mode_t = 0o711
    /// Name of the group of the program itself: a group with processes of its own cannot pass controllers to its children.
    private static let leaf = "runner"

    /// Opens the group that systemd delegated to this service, or else (for root) one named `name` below the root of the
    /// mount; `nil`: there is no cgroup v2 here, or none that this process may use.
    /// `isDelegated`: the group is known to be delegated although it is not marked, as with older user managers.
    public static func open(name: String, isDelegated: Bool = false) throws(SystemError) -> ControlGroupHierarchy? {
        guard let mount = try mountPoint() else { return nil }
        if let base = try delegatedGroup(mount, isKnown: isDelegated) {
            try base.move(Identity.pid, into: leaf)
            try base.hideNames()
            return ControlGroupHierarchy(base: base, controllers: try base.enableControllers(), mount: mount)
        }
        guard Identity.uid == 0 else { return nil }
        let base = ControlGroup(path: mount + "/" + name)
        guard unsafe mkdir(base.path, mode) == 0 || errno == EEXIST else {
            // Mounted read-only, as in many containers.
            if errno == EROFS || errno == EACCES || errno == EPERM { return nil }
            throw .last("make control group \(base.path)")
        }
        try base.hideNames()
        return ControlGroupHierarchy(base: base, controllers: try base.enableControllers(), mount: mount)
    }

    /// Moves a process out of the group of the program that started it, so that it is not stopped together with that one.
    public func adopt(_ pid: Int32) throws(SystemError) {
        try base.move(pid, into: ControlGroupHierarchy.leaf)
    }

    /// Removes the group that `open` made, unless groups of this program are left in it.
    public func close() throws(SystemError) {
        guard base.path.hasPrefix(mount + "/opsd-") else { return }
        try ControlGroup(path: mount).set("cgroup.procs", String(Identity.pid))
        _ = try base.remove()
    }

    /// Removes the empty groups of an earlier program.
    public func removeEmpty() throws(SystemError) {
        for group in try base.children() { _ = try group.remove() }
    }

    /// Returns the groups of this program, by name.
    public func groups() throws(SystemError) -> [(name: String, group: ControlGroup)] {
        try base.children().map { (String($0.path.dropFirst(base.path.count + 1)), $0) }
    }

    /// Returns the group with a name. It need not exist.
    public func group(_ name: String) -> ControlGroup { ControlGroup(path: base.path + "/" + name) }

    /// Returns the name of the group below `base` that a process is in; `nil`: it is in no such group, or gone.
    public func member(_ pid: Int32) throws(SystemError) -> String? {
        guard let path = try ControlGroupHierarchy.group(of: "/proc/\(pid)/cgroup") else { return nil }
        let prefix = String(base.path.dropFirst(mount.count)) + "/"
        guard path.hasPrefix(prefix) else { return nil }
        return path.dropFirst(prefix.count).split(separator: "/").first.map(String.init)
    }

    /// Returns the mount point of cgroup v2: usually /sys/fs/cgroup, beside v1 /sys/fs/cgroup/unified.
    static func mountPoint() throws(SystemError) -> String? {
        let mounts = String(decoding: try Files.read("/proc/self/mounts", limit: 4 << 20), as: UTF8.self)
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            if fields.count > 2, fields[2] == "cgroup2" { return String(fields[1]) }
        }
        return nil
    }

    /// Returns the group of this service. The program that this one replaced may have moved the process into the leaf.
    private static func delegatedGroup(_ mount: String, isKnown: Bool) throws(SystemError) -> ControlGroup? {
        guard var own = try group(of: "/proc/self/cgroup"), own != "/" else { return nil }
        if own.hasSuffix("/" + leaf) { own.removeLast(leaf.utf8.count + 1) }
        guard unsafe access(mount + own + "/cgroup.procs", W_OK) == 0 else { return nil }
        return isKnown || isMarked(mount + own) ? ControlGroup(path: mount + own) : nil
    }

    /// Returns the path after `0::`, which names the v2 group.
    private static func group(of file: String) throws(SystemError) -> String? {
        guard let bytes = try Files.readIfPresent(file, limit: 65_536) else { return nil }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            if text.hasPrefix("0::") { return String(text.dropFirst(3)) }
        }
        return nil
    }

    /// Returns whether systemd has marked a group as delegated.
    private static func isMarked(_ path: String) -> Bool {
        for name in ["user.delegate", "trusted.delegate"] where unsafe ops_has_flag_attribute(path, name) == 1 {
            return true
        }
        return false
    }
}

extension ControlGroup {
    /// Lets only the owner list the group.
    fileprivate func hideNames() throws(SystemError) {
        do throws(SystemError) {
            try retrying("set the mode of \(path)") { unsafe chmod(path, ControlGroupHierarchy.mode) }
        } catch {
            // Another user owns the group, or the mount is read-only. The groups work nevertheless.
            guard [EPERM, EACCES, EROFS].contains(error.errno) else { throw error }
        }
    }

    fileprivate func move(_ pid: Int32, into name: String) throws(SystemError) {
        let leaf = ControlGroup(path: path + "/" + name)
        if unsafe mkdir(leaf.path, ControlGroupHierarchy.mode) != 0 && errno != EEXIST {
            throw .last("make control group \(leaf.path)")
        }
        try leaf.set("cgroup.procs", String(pid))
    }

    /// Passes the controllers of the group to its children. Returns those for which that succeeded.
    fileprivate func enableControllers() throws(SystemError) -> Set<String> {
        let available = String(decoding: try Files.read(path + "/cgroup.controllers", limit: 4096), as: UTF8.self)
        var enabled: Set<String> = []
        for controller in available.split(whereSeparator: \.isWhitespace).map(String.init) {
            guard ["memory", "pids", "cpu", "io"].contains(controller) else { continue }
            do throws(SystemError) {
                try set("cgroup.subtree_control", "+" + controller)
                enabled.insert(controller)
            } catch {
                guard error.errno == EBUSY || error.errno == EPERM || error.errno == EACCES else { throw error }
            }
        }
        return enabled
    }
}

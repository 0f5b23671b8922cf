internal import COpsSpawn
internal import Glibc

/// Where on this machine a program may make control groups of its own.
public struct ControlGroupHierarchy: Hashable, Sendable {
    /// The group below which all of ours are made.
    public let base: ControlGroup
    /// What can be limited there: "memory", "pids", "cpu", "io".
    public let controllers: Set<String>
    private let mount: String

    /// Where the program itself is: a group with processes of its own cannot hand controllers to its children.
    private static let leaf = "runner"

    /// The group that systemd delegated to this service, else (for root) one named `name` below the mount's root.
    /// `nil`: there is no cgroup v2 here, or none that this process may use.
    /// `isDelegated`: whoever started this program says so, since older user managers mark no group of theirs.
    public static func open(name: String, isDelegated: Bool = false) throws(SystemError) -> ControlGroupHierarchy? {
        guard let mount = try mountPoint() else { return nil }
        if let base = try delegatedGroup(mount, isSaid: isDelegated) {
            try base.move(Identity.pid, into: leaf)
            return ControlGroupHierarchy(base: base, controllers: try base.enableControllers(), mount: mount)
        }
        guard Identity.uid == 0 else { return nil }
        let base = ControlGroup(path: mount + "/" + name)
        guard unsafe mkdir(base.path, 0o755) == 0 || errno == EEXIST else {
            // Mounted read-only, as in many containers.
            if errno == EROFS || errno == EACCES || errno == EPERM { return nil }
            throw .last("make control group \(base.path)")
        }
        return ControlGroupHierarchy(base: base, controllers: try base.enableControllers(), mount: mount)
    }

    /// Moves this process out of the group of who started it, so that it is not stopped with that one.
    public func adopt(_ pid: Int32) throws(SystemError) {
        try base.move(pid, into: ControlGroupHierarchy.leaf)
    }

    /// Gives back what `open` made, where no group of ours is left in it.
    public func close() throws(SystemError) {
        guard base.path.hasPrefix(mount + "/opsd-") else { return }
        try ControlGroup(path: mount).set("cgroup.procs", String(Identity.pid))
        _ = try base.remove()
    }

    /// Clears away what a predecessor left, but for groups in which something lives.
    public func removeEmpty() throws(SystemError) {
        for group in try base.children() { _ = try group.remove() }
    }

    /// The groups of our things, by their names.
    public func groups() throws(SystemError) -> [(name: String, group: ControlGroup)] {
        try base.children().map { (String($0.path.dropFirst(base.path.count + 1)), $0) }
    }

    /// The group of one of our things.
    public func group(_ name: String) -> ControlGroup { ControlGroup(path: base.path + "/" + name) }

    /// The name below `base` of the group a process is in; `nil`: it is in none of ours, or gone.
    public func member(_ pid: Int32) throws(SystemError) -> String? {
        guard let path = try ControlGroupHierarchy.group(of: "/proc/\(pid)/cgroup") else { return nil }
        let prefix = String(base.path.dropFirst(mount.count)) + "/"
        guard path.hasPrefix(prefix) else { return nil }
        return path.dropFirst(prefix.count).split(separator: "/").first.map(String.init)
    }

    /// Where cgroup v2 is mounted: usually /sys/fs/cgroup, beside v1 /sys/fs/cgroup/unified.
    static func mountPoint() throws(SystemError) -> String? {
        let mounts = String(decoding: try Files.read("/proc/self/mounts", limit: 4 << 20), as: UTF8.self)
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            if fields.count > 2, fields[2] == "cgroup2" { return String(fields[1]) }
        }
        return nil
    }

    /// The group of this service; the program that this one replaced may have moved the process into the leaf.
    private static func delegatedGroup(_ mount: String, isSaid: Bool) throws(SystemError) -> ControlGroup? {
        guard var own = try group(of: "/proc/self/cgroup"), own != "/" else { return nil }
        if own.hasSuffix("/" + leaf) { own.removeLast(leaf.utf8.count + 1) }
        guard unsafe access(mount + own + "/cgroup.procs", W_OK) == 0 else { return nil }
        return isSaid || isMarked(mount + own) ? ControlGroup(path: mount + own) : nil
    }

    /// The path after `0::`, which names the v2 group.
    private static func group(of file: String) throws(SystemError) -> String? {
        guard let bytes = try Files.readIfPresent(file, limit: 65_536) else { return nil }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            if text.hasPrefix("0::") { return String(text.dropFirst(3)) }
        }
        return nil
    }

    /// What systemd leaves at a group that it has delegated.
    private static func isMarked(_ path: String) -> Bool {
        for name in ["user.delegate", "trusted.delegate"] where unsafe ops_has_flag_attribute(path, name) == 1 {
            return true
        }
        return false
    }
}

extension ControlGroup {
    fileprivate func move(_ pid: Int32, into name: String) throws(SystemError) {
        let leaf = ControlGroup(path: path + "/" + name)
        if unsafe mkdir(leaf.path, 0o755) != 0 && errno != EEXIST { throw .last("make control group \(leaf.path)") }
        try leaf.set("cgroup.procs", String(pid))
    }

    /// Hands on what there is; one that refuses is not offered.
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

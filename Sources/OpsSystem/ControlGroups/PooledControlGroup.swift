internal import COpsSpawn
internal import Glibc

/// Control group that is used by one attempt after another. It is kept open, so that starting a process in it, and checking
/// whether it is empty, take one or two system calls.
public final class PooledControlGroup {
    public let group: ControlGroup
    /// Open directory of the group, passed to clone3 as CLONE_INTO_CGROUP.
    public let directory: Descriptor
    private let events: Descriptor

    fileprivate static let attribute = "user.opsd.owner"

    /// Makes the group; `nil`: there is already a group of that name.
    public init?(making group: ControlGroup) throws(SystemError) {
        guard unsafe mkdir(group.path, ControlGroupHierarchy.mode) == 0 else {
            if errno == EEXIST { return nil }
            throw .last("make control group \(group.path)")
        }
        self.group = group
        do throws(SystemError) {
            directory = try group.open()
            events = try group.openEvents()
        } catch {
            _ = unsafe rmdir(group.path)
            throw error
        }
    }

    /// Marks the group with the name of its user, for a later program. Returns `false` if this kernel stores no marks.
    public func setOwner(_ owner: String) throws(SystemError) -> Bool {
        if unsafe ops_set_attribute(directory.rawValue, Self.attribute, owner) == 0 { return true }
        // Before Linux 5.7 groups take no attributes of users.
        if errno == EOPNOTSUPP || errno == EPERM || errno == EACCES { return false }
        throw .last("mark control group \(group.path)")
    }

    /// Returns whether no process is alive in the group and it is unchanged: not frozen, and without groups below.
    public func isVacant() throws(SystemError) -> Bool {
        let directory = directory.rawValue
        let events = events.rawValue
        return try retrying("examine \(group.path)") { ops_pooled_group_state(directory, events) } == 1
    }
}

extension ControlGroup {
    /// Returns the name that `setOwner` has marked the group with.
    public func owner() throws(SystemError) -> String? {
        var bytes = [CChar](repeating: 0, count: 64)
        let count = unsafe ops_get_attribute(path, PooledControlGroup.attribute, &bytes, bytes.count)
        guard count >= 0 else {
            if errno == ENODATA || errno == ENOENT || errno == EOPNOTSUPP { return nil }
            throw .last("read the owner of \(path)")
        }
        return String(decoding: bytes.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

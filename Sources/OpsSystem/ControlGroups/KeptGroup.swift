internal import COpsSpawn
internal import Glibc

/// A control group that holds one thing after another: it is kept open, so that to be born in it, and to ask whether
/// anything is left in it, takes a system call or two.
public final class KeptGroup {
    public let group: ControlGroup
    /// For births.
    public let directory: Descriptor
    private let events: Descriptor

    fileprivate static let attribute = "user.opsd.owner"

    /// `nil`: there is a group of that name already.
    public init?(making group: ControlGroup) throws(SystemError) {
        guard unsafe mkdir(group.path, 0o755) == 0 else {
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

    /// Says whose it is, for whoever finds it when this process is no more. `false`: this kernel writes nothing down.
    public func setOwner(_ owner: String) throws(SystemError) -> Bool {
        if unsafe ops_set_attribute(directory.rawValue, Self.attribute, owner) == 0 { return true }
        // Before Linux 5.7 groups take no attributes of users.
        if errno == EOPNOTSUPP || errno == EPERM || errno == EACCES { return false }
        throw .last("mark control group \(group.path)")
    }

    /// Proof that nothing is alive in it, and that the next finds it as the first did.
    public func isVacant() throws(SystemError) -> Bool {
        let directory = directory.rawValue
        let events = events.rawValue
        return try retrying("look into \(group.path)") { ops_kept_group_state(directory, events) } == 1
    }
}

extension ControlGroup {
    /// Whose a kept group is.
    public func owner() throws(SystemError) -> String? {
        var bytes = [CChar](repeating: 0, count: 64)
        let count = unsafe ops_get_attribute(path, KeptGroup.attribute, &bytes, bytes.count)
        guard count >= 0 else {
            if errno == ENODATA || errno == ENOENT || errno == EOPNOTSUPP { return nil }
            throw .last("read whose \(path) is")
        }
        return String(decoding: bytes.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

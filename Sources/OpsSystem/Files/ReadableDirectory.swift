internal import COpsSpawn
internal import Glibc

/// A directory that one user can read, opened by a process that may read every directory.
///
/// This process itself examines the rights, so that nothing which runs for the user can feign them. If they depend on
/// an access control list, the directory counts as one that the user cannot read.
public struct ReadableDirectory: ~Copyable {
    private let reference: Descriptor

    /// Calls `body` with a path that stands for the directory itself, whatever its name stands for by now.
    public borrowing func withPath<Result>(_ body: (String) -> Result) -> Result { body(Self.path(of: reference)) }

    /// Opens a directory; nil: there is none, or the user may be unable to read it or to reach it.
    /// - Parameter groups: Returns the groups of the user. Only the rights of some directories depend on them.
    public static func open(_ path: String, readableBy user: UInt32, groups: () -> [UInt32]) -> ReadableDirectory? {
        guard let directory = owned(unsafe ops_open_reference(path)),
            let real = Files.linkTarget(Self.path(of: directory)), real.hasPrefix("/"),
            let status = status(of: directory)
        else { return nil }
        // From the root to the directory, where no component is a link.
        guard var reached = owned(unsafe ops_open_directory_reference(AT_FDCWD, "/")) else { return nil }
        for component in real.split(separator: "/") {
            guard allows(reached, 0o1, user, groups),
                let next = owned(unsafe ops_open_directory_reference(reached.rawValue, String(component)))
            else { return nil }
            reached = next
        }
        guard let last = Self.status(of: reached), last.st_dev == status.st_dev, last.st_ino == status.st_ino,
            allows(reached, 0o5, user, groups)
        else { return nil }
        return ReadableDirectory(reference: reached)
    }

    private init(reference: consuming Descriptor) { self.reference = reference }

    private static func owned(_ number: Int32) -> Descriptor? { number < 0 ? nil : Descriptor(owning: number) }

    private static func path(of directory: borrowing Descriptor) -> String { "/proc/self/fd/\(directory.rawValue)" }

    private static func status(of directory: borrowing Descriptor) -> stat? {
        var status = stat()
        return unsafe fstat(directory.rawValue, &status) == 0 ? status : nil
    }

    /// Returns whether the mode of a directory certainly gives these rights to a user.
    private static func allows(
        _ directory: borrowing Descriptor, _ rights: mode_t, _ user: UInt32, _ groups: () -> [UInt32]
    ) -> Bool {
        if user == 0 { return true }
        guard let status = status(of: directory) else { return false }
        let (ofOwner, ofGroup, ofOthers) = (status.st_mode >> 6, status.st_mode >> 3, status.st_mode)
        // An access control list does not restrict the owner.
        if status.st_uid == user { return ofOwner & rights == rights }
        // The user may be in the group without our knowledge, so its rights are always needed.
        guard ofGroup & rights == rights,
            unsafe ops_get_attribute(path(of: directory), "system.posix_acl_access", nil, 0) <= 0
        else { return false }
        return ofOthers & rights == rights || groups().contains(status.st_gid)
    }
}

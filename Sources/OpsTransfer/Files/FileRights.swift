internal import COpsTransfer
internal import Glibc
public import OpsSystem

/// The rights of a user, with which the files of that user's transfers are opened, written and renamed.
public struct FileRights: Hashable, Sendable {
    public let uid: UInt32
    public let gid: UInt32
    /// Supplementary groups.
    public let groups: [UInt32]

    public init(uid: UInt32, gid: UInt32, groups: [UInt32]) {
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }

    /// Calls `body` with these rights, on this thread alone.
    public func perform<T>(_ body: () throws(SystemError) -> T) throws(SystemError) -> T {
        let isOther = try assume()
        defer { if isOther { ops_resume_rights() } }
        return try body()
    }

    /// Does the same for steps of a transfer, which throw their reasons.
    public func attempt<T>(_ body: () throws(Failure) -> T) throws(Failure) -> T {
        let isOther: Bool
        do throws(SystemError) {
            isOther = try assume()
        } catch {
            throw Failure(error)
        }
        defer { if isOther { ops_resume_rights() } }
        return try body()
    }

    /// Returns false if the process has the rights of this user anyway.
    private func assume() throws(SystemError) -> Bool {
        guard uid != geteuid() else { return false }
        try retrying("become user \(uid)") { unsafe ops_assume_rights(uid, gid, groups, groups.count) }
        return true
    }
}

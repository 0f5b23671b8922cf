internal import COpsTransfer
internal import Glibc
internal import OpsSystem

/// Rights of a user, with which threads open, write and rename the files of that user's transfers.
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

    /// Gives this thread these rights, for all of its life.
    func keep() throws(SystemError) {
        guard uid != geteuid() else { return }
        try retrying("become user \(uid)") { unsafe ops_keep_rights(uid, gid, groups, groups.count) }
    }
}

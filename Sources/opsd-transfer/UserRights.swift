internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd
internal import OpsTransfer

/// Cache of the rights of users; an entry is valid for ten seconds.
struct UserRights {
    private struct Entry {
        var rights: FileRights
        var until: MonotonicInstant
    }
    private static let lifetime = TimeSpan.seconds(10)
    private static let size = 1024
    private var entries: [LaunchRequest.User: Entry] = [:]

    /// Returns nil for the user of this process.
    mutating func rights(of user: LaunchRequest.User?, now: MonotonicInstant) throws(SystemError) -> FileRights? {
        guard let user, user.uid != Identity.uid else { return nil }
        if let entry = entries[user], entry.until > now { return entry.rights }
        var account = try Account.withUID(user.uid, formerName: user.name)
        account?.gid = user.gid
        let groups = try account?.groups() ?? [user.gid]
        let rights = FileRights(uid: user.uid, gid: user.gid, groups: groups)
        if entries.count >= Self.size { entries = [:] }
        entries[user] = Entry(rights: rights, until: now + Self.lifetime)
        return rights
    }
}

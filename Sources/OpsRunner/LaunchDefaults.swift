internal import OpsSystem
internal import OpsSystemd

/// What of this process an operation must not have.
struct LaunchDefaults: Equatable {
    /// Of open files, as it was before this process raised its own.
    var openFiles: Spawn.Limit
    /// The service manager may have protected this process from the OOM killer.
    var oomScore: Int32?

    static func take() throws(SystemError) -> LaunchDefaults {
        let (soft, hard) = try OpenFiles.limit()
        try OpenFiles.raiseLimit()
        let score = Int32(try Files.readText("/proc/self/oom_score_adj")) ?? 0
        return LaunchDefaults(
            openFiles: Spawn.Limit(resource: ResourceLimit.Resource.openFiles.number, soft: soft, hard: hard),
            oomScore: score < 0 ? 0 : nil)
    }
}

/// The supplementary groups of users, looked up anew after a while.
struct GroupLists {
    private struct Entry {
        var groups: [UInt32]
        var until: Int64
    }
    private static let lifetime: Int64 = 10_000_000_000
    private var entries: [LaunchRequest.User: Entry] = [:]

    mutating func groups(of user: LaunchRequest.User, now: Int64) throws(SystemError) -> [UInt32] {
        if let entry = entries[user], entry.until > now { return entry.groups }
        var account = try Account.withUID(user.uid, calledBefore: user.name)
        account?.gid = user.gid
        let groups = try account?.groups() ?? [user.gid]
        if entries.count > 1024 { entries = [:] }
        entries[user] = Entry(groups: groups, until: now + GroupLists.lifetime)
        return groups
    }
}

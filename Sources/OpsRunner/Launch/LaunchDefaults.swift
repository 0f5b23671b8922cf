internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Attributes of this process that an operation must not inherit.
struct LaunchDefaults: Equatable {
    /// Limit of open files before this process raised its own.
    var openFiles: Spawn.Limit
    /// Score for the OOM killer, where the service manager has protected this process from it.
    var oomScore: Int32?

    /// Reads the defaults, and raises the limit of open files of this process.
    static func capture() throws(SystemError) -> LaunchDefaults {
        let (soft, hard) = try OpenFiles.limit()
        try OpenFiles.raiseLimit()
        let score = Int32(try Files.readFirstLine("/proc/self/oom_score_adj")) ?? 0
        return LaunchDefaults(
            openFiles: Spawn.Limit(resource: ResourceLimit.Resource.openFiles.number, soft: soft, hard: hard),
            oomScore: score < 0 ? 0 : nil)
    }
}

/// Cache of the supplementary groups of users; an entry is valid for ten seconds.
struct SupplementaryGroups {
    private struct Entry {
        var groups: [UInt32]
        var until: MonotonicInstant
    }
    private static let lifetime = TimeSpan.seconds(10)
    private var entries: [LaunchRequest.User: Entry] = [:]

    mutating func groups(of user: LaunchRequest.User, now: MonotonicInstant) throws(SystemError) -> [UInt32] {
        if let entry = entries[user], entry.until > now { return entry.groups }
        var account = try Account.withUID(user.uid, formerName: user.name)
        account?.gid = user.gid
        let groups = try account?.groups() ?? [user.gid]
        if entries.count > 1024 { entries = [:] }
        entries[user] = Entry(groups: groups, until: now + SupplementaryGroups.lifetime)
        return groups
    }
}

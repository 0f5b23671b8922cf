internal import OpsExecutor
internal import OpsSystem

/// Control groups that serve one attempt after another. Making and removing a group for each attempt would take a tenth of
/// the time of a short operation, half of it in the kernel after the removal.
///
/// Only groups without controllers are pooled. Where a group counts or limits what its processes use, each attempt gets a
/// group of its own. An attribute of the group names the attempt that uses it, so that a later runner can tell.
struct ControlGroupPool {
    private let hierarchy: ControlGroupHierarchy?
    /// Name prefix of the groups of this runner. Groups of earlier runners have other ones.
    private let prefix: String
    private var vacant: [PooledControlGroup] = []
    /// Number of groups in the pool, vacant or in use.
    private var count = 0
    private var lastNumber = 0

    /// Most groups in the pool; each has two open descriptors. Further attempts get groups of their own.
    private static let limit = 64
    private static let commonPrefix = "shared-"

    init(in hierarchy: ControlGroupHierarchy?, instance: String) {
        self.hierarchy = hierarchy?.controllers.isEmpty == true ? hierarchy : nil
        prefix = Self.commonPrefix + instance.prefix(8) + "-"
    }

    /// Returns a vacant group; `nil`: the attempt needs a group of its own.
    mutating func acquire(for attempt: AttemptID) throws(SystemError) -> PooledControlGroup? {
        let next = vacant.popLast()
        guard let pooled = try next == nil ? make() : next else { return nil }
        do throws(SystemError) {
            if try pooled.setOwner(attempt.groupName) { return pooled }
        } catch {
            discard(pooled)
            throw error
        }
        // Without the attribute nothing would tell whose group it is: the pool stays unused.
        discard(pooled)
        count = Self.limit
        return nil
    }

    /// Returns a group to the pool. Returns `false`, and gives the group up, if a process of the attempt is left in it or
    /// the attempt has changed it.
    mutating func release(_ pooled: PooledControlGroup) throws(SystemError) -> Bool {
        count -= 1
        guard try pooled.isVacant() else { return false }
        count += 1
        vacant.append(pooled)
        return true
    }

    /// Gives up a group, which belongs to its present attempt alone from now on.
    mutating func withdraw(_ pooled: PooledControlGroup) { count -= 1 }

    mutating func removeVacant() {
        for pooled in vacant { discard(pooled) }
        vacant = []
    }

    private mutating func make() throws(SystemError) -> PooledControlGroup? {
        guard let hierarchy else { return nil }
        while count < Self.limit {
            lastNumber += 1
            guard let pooled = try PooledControlGroup(making: hierarchy.group(prefix + String(lastNumber))) else {
                continue
            }
            count += 1
            return pooled
        }
        return nil
    }

    private mutating func discard(_ pooled: PooledControlGroup) {
        count -= 1
        // A group that cannot be removed is empty; the next runner removes it.
        _ = try? pooled.group.remove()
    }

    /// Returns the pooled groups of earlier runners, by the attempt that used each of them last.
    func groupsOfEarlierRunners() throws(SystemError) -> [AttemptID: [ControlGroup]] {
        guard let hierarchy else { return [:] }
        var groups: [AttemptID: [ControlGroup]] = [:]
        for (name, group) in try hierarchy.groups()
        where name.hasPrefix(Self.commonPrefix) && !name.hasPrefix(prefix) {
            if let attempt = try Self.attempt(in: group) { groups[attempt, default: []].append(group) }
        }
        return groups
    }

    /// Returns the attempt that uses a pooled group.
    static func attempt(in group: ControlGroup) throws(SystemError) -> AttemptID? {
        try group.owner().flatMap { AttemptID(groupName: $0) }
    }
}

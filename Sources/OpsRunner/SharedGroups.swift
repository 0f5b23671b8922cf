internal import OpsSystem

/// Control groups that serve one attempt after another: to make and remove one for each would cost a short operation a
/// tenth of its time, half of it in the kernel after the removal.
///
/// Only where a group does nothing but hold processes together. Where it counts what they use, or bounds it, each attempt
/// has its own. Whose a group is at the moment is written at the group itself, so that a later runner can tell.
struct SharedGroups {
    private let hierarchy: ControlGroupHierarchy?
    /// Of this runner, so that those of an earlier one are known for what they are.
    private let prefix: String
    private var vacant: [KeptGroup] = []
    /// Vacant or not.
    private var count = 0
    private var lastNumber = 0

    /// Each has two descriptors open; who executes more at once does not wait for the groups.
    private static let limit = 64
    private static let namesBegin = "shared-"

    init(in hierarchy: ControlGroupHierarchy?, instance: String) {
        self.hierarchy = hierarchy?.controllers.isEmpty == true ? hierarchy : nil
        prefix = Self.namesBegin + instance.prefix(8) + "-"
    }

    /// `nil`: there is none for it.
    mutating func take(for attempt: Attempt) throws(SystemError) -> KeptGroup? {
        let next = vacant.popLast()
        guard let kept = try next == nil ? make() : next else { return nil }
        do throws(SystemError) {
            if try kept.setOwner(attempt.groupName) { return kept }
        } catch {
            discard(kept)
            throw error
        }
        // What nobody could tell from another's is none to share.
        discard(kept)
        count = Self.limit
        return nil
    }

    /// `false`: something of the attempt is left in it, or it is not as it was before.
    mutating func takeBack(_ kept: KeptGroup) throws(SystemError) -> Bool {
        count -= 1
        guard try kept.isVacant() else { return false }
        count += 1
        vacant.append(kept)
        return true
    }

    /// It is of one attempt alone from now on.
    mutating func letGo(_ kept: KeptGroup) { count -= 1 }

    mutating func removeVacant() {
        for kept in vacant { discard(kept) }
        vacant = []
    }

    private mutating func make() throws(SystemError) -> KeptGroup? {
        guard let hierarchy else { return nil }
        while count < Self.limit {
            lastNumber += 1
            guard let kept = try KeptGroup(making: hierarchy.group(prefix + String(lastNumber))) else { continue }
            count += 1
            return kept
        }
        return nil
    }

    private mutating func discard(_ kept: KeptGroup) {
        count -= 1
        // One that refuses is empty, and goes with the next runner.
        _ = try? kept.group.remove()
    }

    /// Of earlier runners, by the attempt that was last in them.
    func ofOthers() throws(SystemError) -> [Attempt: [ControlGroup]] {
        guard let hierarchy else { return [:] }
        var groups: [Attempt: [ControlGroup]] = [:]
        for (name, group) in try hierarchy.groups() where name.hasPrefix(Self.namesBegin) && !name.hasPrefix(prefix) {
            if let attempt = try Self.attempt(in: group) { groups[attempt, default: []].append(group) }
        }
        return groups
    }

    /// Who is in a group.
    static func attempt(in group: ControlGroup) throws(SystemError) -> Attempt? {
        try group.owner().flatMap { Attempt(groupName: $0) }
    }
}

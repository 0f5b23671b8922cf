internal import OpsModel
internal import OpsWire

/// Defaults of included files for their operations. Those of the innermost file have precedence.
struct IncludedDefaults {
    struct Member {
        let key: String
        let text: GraphText
        let offset: Int
        let value: Range<Int>
        var view: JSONView { JSONView(text.bytes, value) }
    }

    private var members: [Member] = []

    /// Keys that groups accept too, and pass to their children.
    private static let ofGroups: Set<String> = ["queue", "priority", "labels"]
    /// Keys of which an operation has exactly one: a default for one of them is ignored if the operation has another.
    private static let commands = Set(OperationKey.commands.map(\.text))
    /// Keys whose entries are combined.
    static let joined: Set<String> = ["labels", "environment"]

    /// Returns these defaults, after those of a file that is included.
    func under(_ file: GraphFile, _ text: GraphText) -> IncludedDefaults {
        var all = self
        let own = file.defaultMembers.map { Member(key: $0.key, text: text, offset: $0.offset, value: $0.value.range) }
        all.members = own.filter { !$0.view.isNull } + members
        return all
    }

    /// Returns the members that an operation gets in addition to its own. A key whose entries are combined appears once
    /// for each file.
    func members(
        besides own: [(key: String, view: JSONView)], isGroup: Bool, isTop: Bool
    ) -> [Member] {
        let present = Set(own.filter { !$0.view.isNull }.map(\.key))
        var taken: Set<String> = []
        return members.filter { member in
            let key = member.key
            guard isGroup ? Self.ofGroups.contains(key) && isTop : isTop || !Self.ofGroups.contains(key) else {
                return false
            }
            if Self.joined.contains(key) { return true }
            if Self.commands.contains(key) {
                guard present.isDisjoint(with: Self.commands), taken.isDisjoint(with: Self.commands) else {
                    return false
                }
            }
            return !present.contains(key) && taken.insert(key).inserted
        }
    }
}

internal import OpsModel
internal import OpsWire

/// Defaults of included files, laid under their operations: those of the innermost file come first.
struct IncludedDefaults {
    struct Member {
        let key: String
        let text: GraphText
        let offset: Int
        let value: Range<Int>
        var view: JSONView { JSONView(text.bytes, value) }
    }

    private var members: [Member] = []

    /// Keys that groups take too, and hand down to their children.
    private static let ofGroups: Set<String> = ["queue", "priority", "labels"]
    /// Keys of which an operation has one: a default for one of them is none where the operation has another.
    private static let commands = Set(OperationKey.commands.map(\.text))
    /// Keys whose entries are joined.
    static let joined: Set<String> = ["labels", "environment"]

    /// Returns these defaults with those of a file before them.
    func under(_ file: GraphFile, _ text: GraphText) -> IncludedDefaults {
        var all = self
        let own = file.defaultMembers.map { Member(key: $0.key, text: text, offset: $0.offset, value: $0.value.range) }
        all.members = own.filter { !$0.view.isNull } + members
        return all
    }

    /// Returns the members that an operation takes besides its own, keys that are joined once for each file.
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

internal import OpsClient
internal import OpsWire

/// Options given with `-f`: keys for every operation of the file that does not set them itself, and keys for its roots.
struct GraphOptions {
    /// Objects with keys for all operations.
    private let shared: [UInt8]
    private let start: [UInt8]

    init(_ keys: OperationKeys) throws(Failure) {
        let environment = try keys.environment()
        var shared = JSONWriter()
        shared.beginObject()
        if !environment.isEmpty { shared.member("environment", environment) }
        try keys.writeShared(to: &shared)
        shared.endObject()
        var start = JSONWriter()
        start.beginObject()
        try keys.writeStart(to: &start)
        start.endObject()
        (self.shared, self.start) = (shared.bytes, start.bytes)
    }

    func lay(over file: GraphFile) -> Submission {
        let own = Self.members(start)
        var submission = own.isEmpty ? file.submission : withStarts(own, file)
        if shared.count > 2 {
            submission.terms.defaults = RawJSON(Self.merged(shared, over: submission.terms.defaults?.bytes))
        }
        return submission
    }

    /// Returns the operations of the file, with these members added to its roots.
    private func withStarts(_ members: [Member], _ file: GraphFile) -> Submission {
        let roots = Roots(members, inherited: file.defaultMembers.first { $0.key == "after" }?.value.elements ?? [])
        var text: [UInt8] = []
        text.reserveCapacity(file.bytes.count)
        var ranges: [Range<Int>] = []
        for range in file.operations {
            let begin = text.count
            text += roots.withStart(JSONView(file.bytes, range))
            ranges.append(begin..<text.count)
            text.append(0x0a)
        }
        var submission = Submission(ranges, in: text)
        submission.terms = file.submission.terms
        return submission
    }

    /// Returns an object with the members of both. Labels and environment variables of both are combined.
    static func merged(_ upper: [UInt8], over lower: [UInt8]?) -> [UInt8] {
        let below = members(lower ?? Array("{}".utf8))
        let above = members(upper)
        var object = JSONWriter()
        object.object { object in
            for member in above {
                let joined = below.first { $0.key == member.key && $0.value.isObject && member.value.isObject }
                let isJoined = ["labels", "environment"].contains(member.key)
                if isJoined, let joined {
                    let value = merged(
                        Array(member.value.bytes[member.value.range]),
                        over: Array(joined.value.bytes[joined.value.range]))
                    object.member(member.key, raw: value)
                } else {
                    object.member(member.key, raw: member.value.bytes[member.value.range])
                }
            }
            for member in below where !above.contains(where: { $0.key == member.key }) {
                object.member(member.key, raw: member.value.bytes[member.value.range])
            }
        }
        return object.bytes
    }

    private static func members(_ object: [UInt8]) -> [Member] {
        JSONView(object, 0..<object.count).members
    }
}

private typealias Member = (key: String, value: JSONView)

/// Adds members to the operations that wait for no other operation of their file.
private struct Roots {
    private let added: [Member]
    /// Dependencies of operations without own ones.
    private let inherited: [JSONView]

    init(_ added: [Member], inherited: [JSONView]) {
        self.added = added
        self.inherited = inherited
    }

    /// Returns an operation with the members, and so for the operations that its conditions provide.
    ///
    /// - Parameter needing: Names of the operations whose conditions provide it.
    func withStart(_ operation: JSONView, needing: [String] = []) -> [UInt8] {
        let present = operation.members
        let name = present.first { $0.key == "name" }?.value.text
        let names = name.map { needing + [$0] } ?? needing
        var missing = isRoot(present, names) ? added : []
        missing.removeAll { member in
            member.key != "after" && present.contains { $0.key == member.key && !$0.value.isNull }
        }
        if missing.isEmpty, !present.contains(where: { $0.key == "conditions" }) { return Self.source(operation) }
        // An empty `after`, and a null, is replaced by the given value.
        let kept = present.filter { member in !missing.contains { $0.key == member.key } }
        var object = JSONWriter()
        object.object { object in
            for member in missing { object.member(member.key, raw: Self.source(member.value)) }
            for member in kept {
                object.member(
                    member.key,
                    raw: member.key == "conditions" ? conditions(member.value, names) : Self.source(member.value))
            }
        }
        return object.bytes
    }

    private func conditions(_ list: JSONView, _ names: [String]) -> [UInt8] {
        guard list.isArray else { return Self.source(list) }
        let elements = list.elements.map { condition -> [UInt8] in
            guard condition.isObject else { return Self.source(condition) }
            var object = JSONWriter()
            object.object { object in
                for member in condition.members {
                    let isOperation = member.key == "provide" && member.value.isObject
                    object.member(
                        member.key,
                        raw: isOperation ? withStart(member.value, needing: names) : Self.source(member.value))
                }
            }
            return object.bytes
        }
        return [UInt8(ascii: "[")] + elements.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
    }

    /// Returns true if an operation waits for no other. One without own dependencies has the default ones, except those
    /// on itself and on an operation whose condition provides it. A group has none.
    ///
    /// - Parameter names: Names of these operations.
    private func isRoot(_ members: [Member], _ names: [String]) -> Bool {
        if let own = members.first(where: { $0.key == "after" && !$0.value.isNull })?.value {
            return own.isArray && own.elements.isEmpty
        }
        if members.contains(where: { $0.key == "operations" && !$0.value.isNull }) { return true }
        return inherited.allSatisfy { edge in
            let on = edge.isObject ? edge.members.first { $0.key == "op" }?.value : edge
            guard let name = on?.text else { return false }
            return names.contains(name)
        }
    }

    private static func source(_ view: JSONView) -> [UInt8] { Array(view.bytes[view.range]) }
}

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
    private func withStarts(_ members: [(key: String, value: JSONView)], _ file: GraphFile) -> Submission {
        var text: [UInt8] = []
        text.reserveCapacity(file.bytes.count)
        var ranges: [Range<Int>] = []
        for range in file.operations {
            let begin = text.count
            let present = JSONView(file.bytes, range).members
            let isRoot = present.first { $0.key == "after" }?.value.elements.isEmpty ?? true
            let missing = members.filter { member in
                isRoot && !present.contains { $0.key == member.key && $0.key != "after" }
            }
            if missing.isEmpty {
                text += file.bytes[range]
            } else {
                // An empty `after` is replaced by the given one.
                let kept = present.filter { $0.key != "after" || !missing.contains { $0.key == "after" } }
                var object = JSONWriter()
                object.object { object in
                    for member in missing + kept {
                        object.member(member.key, raw: member.value.bytes[member.value.range])
                    }
                }
                text += object.bytes
            }
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

    private static func members(_ object: [UInt8]) -> [(key: String, value: JSONView)] {
        JSONView(object, 0..<object.count).members
    }
}

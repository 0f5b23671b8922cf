internal import OpsWire

/// A YAML text as JSON, with the positions of its keys and elements.
public struct YAMLDocument: Sendable {
    /// Start of a key or an element in the JSON text, and its position in the YAML text. Ascending offsets.
    public struct Mark: Sendable {
        public let offset: Int
        public let position: YAMLPosition
    }

    public let json: [UInt8]
    public let marks: [Mark]
    /// Keys that occur twice in a mapping. The JSON contains the first of each.
    public let repeatedKeys: [YAMLProblem]

    /// Maximum of JSON bytes and merged members that aliases may add to a document.
    static let aliasBudget = 64 << 20
    /// Maximum of bytes of the texts that aliases repeat as keys.
    static let keyBudget = 1 << 20

    public init(_ text: [UInt8]) throws(YAMLProblems) {
        let (reader, root) = YAMLReader.read(text, maximumDepth: Limits.depth)
        repeatedKeys = reader.repeatedKeys
        var problems = reader.problems
        guard let root else {
            if !problems.isEmpty { throw YAMLProblems(problems + reader.repeatedKeys) }
            (json, marks) = ([], [])
            return
        }
        var conversion = Conversion(nodes: reader.nodes)
        if problems.isEmpty {
            conversion.write(root)
            problems = conversion.problems
        }
        guard problems.isEmpty else { throw YAMLProblems(problems + reader.repeatedKeys) }
        (json, marks) = (conversion.writer.bytes, conversion.marks)
    }
}

/// Writes nodes as JSON.
private struct Conversion {
    let nodes: [YAMLNode]
    var writer = JSONWriter()
    var marks: [YAMLDocument.Mark] = []
    var problems: [YAMLProblem] = []
    /// Bytes and merged members that finished aliases added.
    private var spent = 0
    /// Members of mappings with merge keys: they may be merged many times.
    private var merged: [Int: [(key: Int, value: Int)]] = [:]
    /// Length of the text before the outermost alias that is being written.
    private var aliasStart: Int?

    init(nodes: [YAMLNode]) { self.nodes = nodes }

    mutating func write(_ index: Int) {
        let node = nodes[index]
        guard staysInBudget(at: node.position) else { return }
        switch node.content {
        case .alias(let target):
            let isOutermost = aliasStart == nil
            let start = aliasStart ?? writer.bytes.count
            aliasStart = start
            write(target)
            if isOutermost {
                spent += writer.bytes.count - start
                aliasStart = nil
            }
        case .scalar(let bytes, let json):
            // An alias may repeat a merge key as a value.
            if let json, json != CoreSchema.merge {
                writer.raw(json.utf8)
            } else {
                writer.string(String(decoding: bytes, as: UTF8.self))
            }
        case .sequence(let elements):
            writer.beginArray()
            for element in elements {
                mark(element)
                write(element)
            }
            writer.endArray()
        case .mapping:
            writer.beginObject()
            for member in members(of: index) {
                mark(member.key)
                writer.key(String(decoding: bytes(ofKey: member.key) ?? [], as: UTF8.self))
                write(member.value)
            }
            writer.endObject()
        }
    }

    private mutating func mark(_ node: Int) {
        marks.append(.init(offset: writer.bytes.count, position: nodes[node].position))
    }

    private func bytes(ofKey key: Int) -> [UInt8]? {
        guard case .scalar(let bytes, _) = nodes[key].content else { return nil }
        return bytes
    }

    private mutating func staysInBudget(at position: YAMLPosition) -> Bool {
        let current = aliasStart.map { writer.bytes.count - $0 } ?? 0
        guard spent + current > YAMLDocument.aliasBudget else { return true }
        if problems.isEmpty {
            note("aliases expand to more than \(YAMLDocument.aliasBudget >> 20)M", at: position)
        }
        return false
    }

    private mutating func note(_ reason: String, at position: YAMLPosition) {
        problems.append(YAMLProblem(position: position, reason: reason))
    }

    // MARK: - Merge keys

    /// Returns the members of a mapping: its own, then those of the mappings under `<<` that it does not have.
    private mutating func members(of index: Int) -> [(key: Int, value: Int)] {
        guard case .mapping(let pairs) = nodes[index].content else { return [] }
        guard pairs.contains(where: { isMerge($0.key) }) else { return pairs }
        if let known = merged[index] { return known }
        var members = pairs.filter { !isMerge($0.key) }
        var names = Set(members.compactMap { bytes(ofKey: $0.key) })
        for pair in pairs where isMerge(pair.key) { merge(pair.value, &members, &names) }
        merged[index] = members
        return members
    }

    /// A quoted `<<` is an ordinary key.
    private func isMerge(_ key: Int) -> Bool {
        guard case .scalar(let bytes, let json) = nodes[key].content else { return false }
        return json == CoreSchema.merge && bytes.elementsEqual("<<".utf8)
    }

    private mutating func merge(
        _ source: Int, _ members: inout [(key: Int, value: Int)], _ names: inout Set<[UInt8]>
    ) {
        let position = nodes[source].position
        let target = resolved(source)
        switch nodes[target].content {
        case .mapping: add(self.members(of: target), at: position, &members, &names)
        case .sequence(let elements):
            for element in elements {
                let target = resolved(element)
                guard case .mapping = nodes[target].content else {
                    return note("<< merges a mapping, or a list of mappings", at: nodes[element].position)
                }
                add(self.members(of: target), at: position, &members, &names)
            }
        default: note("<< merges a mapping, or a list of mappings", at: position)
        }
    }

    private mutating func add(
        _ more: [(key: Int, value: Int)], at position: YAMLPosition, _ members: inout [(key: Int, value: Int)],
        _ names: inout Set<[UInt8]>
    ) {
        spent += more.count
        guard staysInBudget(at: position) else { return }
        for member in more where bytes(ofKey: member.key).map({ names.insert($0).inserted }) ?? false {
            members.append(member)
        }
    }

    private func resolved(_ index: Int) -> Int {
        var index = index
        while case .alias(let target) = nodes[index].content { index = target }
        return index
    }
}

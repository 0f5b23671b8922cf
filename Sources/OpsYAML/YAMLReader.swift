private import CYAML

/// Reads one document with libyaml into nodes.
@safe struct YAMLReader {
    private struct Stop: Error {}

    private(set) var nodes: [YAMLNode] = []
    private(set) var problems: [YAMLProblem] = []
    /// Keys that occur twice in a mapping, whose node has the first of each.
    private(set) var repeatedKeys: [YAMLProblem] = []
    /// Values by their anchors; nil for a value that has not ended yet.
    private var anchors: [String: Int?] = [:]
    /// Number of levels in each node. An alias has those of the value that it repeats.
    private var heights: [Int] = []
    /// Bytes of the texts that aliases repeat as keys.
    private var bytesOfAliasedKeys = 0
    private let text: [UInt8]
    private let maximumDepth: Int
    private var parser = unsafe yaml_parser_t()

    /// Reads the text. `root` is nil for an empty text.
    static func read(_ text: [UInt8], maximumDepth: Int) -> (reader: YAMLReader, root: Int?) {
        var reader = YAMLReader(text, maximumDepth: maximumDepth)
        let root = unsafe text.withUnsafeBufferPointer { bytes in
            guard unsafe yaml_parser_initialize(&reader.parser) == 1 else { return reader.fail("out of memory") }
            defer { unsafe yaml_parser_delete(&reader.parser) }
            unsafe yaml_parser_set_input_string(&reader.parser, bytes.baseAddress, bytes.count)
            unsafe yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING)
            do throws(Stop) { return try reader.document() } catch { return nil }
        }
        return (reader, root)
    }

    private init(_ text: [UInt8], maximumDepth: Int) { (self.text, self.maximumDepth) = (text, maximumDepth) }

    private mutating func fail(_ reason: String) -> Int? {
        problems.append(YAMLProblem(position: YAMLPosition(line: 1, column: 1), reason: reason))
        return nil
    }

    private mutating func note(_ reason: String, at position: YAMLPosition) {
        problems.append(YAMLProblem(position: position, reason: reason))
    }

    // MARK: - Events

    private mutating func next() throws(Stop) -> yaml_event_t {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(&parser, &event) == 1 else {
            noteSyntax()
            throw Stop()
        }
        return unsafe event
    }

    private mutating func noteSyntax() {
        let problem = unsafe parser.problem.map { unsafe String(cString: $0) } ?? "out of memory"
        if unsafe parser.error == YAML_READER_ERROR {
            return note(problem, at: position(of: unsafe parser.problem_offset))
        }
        let context = unsafe parser.context.map { unsafe " " + String(cString: $0) } ?? ""
        note(problem + context, at: Self.position(unsafe parser.problem_mark))
    }

    private static func position(_ mark: yaml_mark_t) -> YAMLPosition {
        YAMLPosition(line: mark.line + 1, column: mark.column + 1)
    }

    /// Returns the position of a byte that follows valid UTF-8.
    private func position(of offset: Int) -> YAMLPosition {
        let lines = text.prefix(offset).split(separator: 0x0a, omittingEmptySubsequences: false)
        let characters = lines[lines.count - 1].count { $0 & 0xc0 != 0x80 }
        return YAMLPosition(line: lines.count, column: characters + 1)
    }

    private mutating func document() throws(Stop) -> Int? {
        var root: Int?
        var documents = 0
        while true {
            var event = unsafe try next()
            defer { unsafe yaml_event_delete(&event) }
            switch unsafe event.type {
            case YAML_STREAM_END_EVENT: return root
            case YAML_STREAM_START_EVENT, YAML_DOCUMENT_END_EVENT: continue
            case YAML_DOCUMENT_START_EVENT:
                documents += 1
                if documents > 1 {
                    note(
                        "a second document begins, but a file contains only one graph",
                        at: Self.position(unsafe event.start_mark))
                    throw Stop()
                }
            default: root = unsafe try value(event, depth: 0)
            }
        }
    }

    // MARK: - Values

    private mutating func add(_ content: YAMLNode.Content, _ position: YAMLPosition) -> Int {
        nodes.append(YAMLNode(content: content, position: position))
        heights.append(height(of: content))
        return nodes.count - 1
    }

    private func height(of content: YAMLNode.Content) -> Int {
        switch content {
        case .scalar: 0
        case .alias(let target): heights[target]
        case .sequence(let elements): 1 + (elements.map { heights[$0] }.max() ?? 0)
        case .mapping(let members): 1 + (members.map { heights[$0.value] }.max() ?? 0)
        }
    }

    private mutating func value(_ event: yaml_event_t, depth: Int) throws(Stop) -> Int {
        let position = Self.position(unsafe event.start_mark)
        try requireDepth(depth, at: position)
        switch unsafe event.type {
        case YAML_ALIAS_EVENT: return unsafe try alias(Self.text(event.data.alias.anchor) ?? "", position, depth)
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let index = unsafe add(content(of: scalar, position), position)
            if let anchor = unsafe Self.text(scalar.anchor) { anchors[anchor] = .some(index) }
            return index
        case YAML_SEQUENCE_START_EVENT:
            let start = unsafe event.data.sequence_start
            return unsafe try collection(Self.text(start.anchor), Self.text(start.tag), "seq", position) {
                (reader) throws(Stop) in .sequence(try reader.elements(depth + 1))
            }
        case YAML_MAPPING_START_EVENT:
            let start = unsafe event.data.mapping_start
            return unsafe try collection(Self.text(start.anchor), Self.text(start.tag), "map", position) {
                (reader) throws(Stop) in .mapping(try reader.members(depth + 1))
            }
        default:
            note("a value is expected", at: position)
            throw Stop()
        }
    }

    private mutating func requireDepth(_ depth: Int, at position: YAMLPosition) throws(Stop) {
        guard depth > maximumDepth else { return }
        note("nested more than \(maximumDepth) deep", at: position)
        throw Stop()
    }

    private mutating func alias(_ name: String, _ position: YAMLPosition, _ depth: Int) throws(Stop) -> Int {
        switch anchors[name] {
        case .some(.some(let target)):
            try requireDepth(depth + heights[target], at: position)
            return add(.alias(of: target), position)
        case .some(.none): note("*\(name) is inside the value that it refers to", at: position)
        case .none: note("no anchor &\(name) is defined before this", at: position)
        }
        return add(.scalar(bytes: [], json: "null"), position)
    }

    private mutating func collection(
        _ anchor: String?, _ tag: String?, _ kind: String, _ position: YAMLPosition,
        _ read: (inout YAMLReader) throws(Stop) -> YAMLNode.Content
    ) throws(Stop) -> Int {
        if let tag, tag != "tag:yaml.org,2002:\(kind)", tag != "!" { note("unknown tag \(tag)", at: position) }
        if let anchor { anchors[anchor] = .some(nil) }
        let index = add(try read(&self), position)
        if let anchor { anchors[anchor] = .some(index) }
        return index
    }

    private mutating func elements(_ depth: Int) throws(Stop) -> [Int] {
        var elements: [Int] = []
        while true {
            var event = unsafe try next()
            defer { unsafe yaml_event_delete(&event) }
            if unsafe event.type == YAML_SEQUENCE_END_EVENT { return elements }
            elements.append(unsafe try value(event, depth: depth))
        }
    }

    private mutating func members(_ depth: Int) throws(Stop) -> [(key: Int, value: Int)] {
        var members: [(key: Int, value: Int)] = []
        var seen: Set<[UInt8]> = []
        while true {
            var event = unsafe try next()
            defer { unsafe yaml_event_delete(&event) }
            if unsafe event.type == YAML_MAPPING_END_EVENT { return members }
            let key = unsafe try value(event, depth: depth)
            try resolveKey(key)
            markMerge(
                key,
                isPlain: unsafe event.type == YAML_SCALAR_EVENT && event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
            var isRepeated = false
            if case .scalar(let bytes, let json) = nodes[key].content {
                // A quoted `<<` is another key than a plain one. No key contains a NUL.
                isRepeated = !seen.insert(json == CoreSchema.merge ? [0] : bytes).inserted
                if isRepeated {
                    let reason = "the key \"\(String(decoding: bytes, as: UTF8.self))\" occurs twice"
                    repeatedKeys.append(YAMLProblem(position: nodes[key].position, reason: reason))
                }
            } else {
                note("a key must be a text", at: nodes[key].position)
            }
            var following = unsafe try next()
            defer { unsafe yaml_event_delete(&following) }
            let member = unsafe try value(following, depth: depth)
            if !isRepeated { members.append((key, member)) }
        }
    }

    /// Replaces an alias that is a key by the text that it repeats.
    private mutating func resolveKey(_ key: Int) throws(Stop) {
        guard case .alias(let target) = nodes[key].content, case .scalar(let bytes, _) = nodes[target].content else {
            return
        }
        bytesOfAliasedKeys += bytes.count
        guard bytesOfAliasedKeys <= YAMLDocument.keyBudget else {
            note("aliases that are keys expand to more than \(YAMLDocument.keyBudget >> 20)M", at: nodes[key].position)
            throw Stop()
        }
        nodes[key] = YAMLNode(content: nodes[target].content, position: nodes[key].position)
    }

    private mutating func markMerge(_ key: Int, isPlain: Bool) {
        guard isPlain, case .scalar(let bytes, nil) = nodes[key].content, bytes.elementsEqual("<<".utf8) else { return }
        nodes[key] = YAMLNode(
            content: .scalar(bytes: bytes, json: CoreSchema.merge), position: nodes[key].position)
    }

    // MARK: - Scalars

    private static func text(_ characters: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        unsafe characters.map { unsafe String(cString: $0) }
    }

    private mutating func content(
        of scalar: yaml_event_t.__Unnamed_union_data.__Unnamed_struct_scalar, _ position: YAMLPosition
    ) -> YAMLNode.Content {
        let bytes = unsafe Array(UnsafeBufferPointer(start: scalar.value, count: scalar.length))
        let isPlain = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE
        let text = String(decoding: bytes, as: UTF8.self)
        switch unsafe Self.text(scalar.tag) {
        case nil:
            guard isPlain else { return .scalar(bytes: bytes, json: nil) }
            return .scalar(bytes: bytes, json: resolved(text, position))
        case "tag:yaml.org,2002:str", "!": return .scalar(bytes: bytes, json: nil)
        case .some(let tag):
            let known = ["null", "bool", "int", "float"].contains { tag == "tag:yaml.org,2002:\($0)" }
            if !known { note("unknown tag \(tag)", at: position) }
            return .scalar(bytes: bytes, json: known ? resolved(text, position) : nil)
        }
    }

    private mutating func resolved(_ text: String, _ position: YAMLPosition) -> String? {
        switch CoreSchema.resolve(text) {
        case .text: return nil
        case .json(let json): return json
        case .unrepresentable:
            note("\(text) is not a number that a graph can have", at: position)
            return nil
        }
    }
}

internal import Glibc
internal import OpsModel
internal import OpsSystem
internal import OpsWire

/// Inserts included graph files as groups.
struct Inclusion {
    /// Limits for all files of one submission together.
    private static let depth = 32
    private static let files = 10_000
    private static let size = 256 << 20

    /// A file whose operations are being written.
    private struct Source {
        let text: GraphText
        let file: GraphFile
        let substitution: Substitution
        /// Path of the file without links; nil for standard input.
        let identity: String?
    }

    private var assembly = GraphAssembly()
    private var chain: [Source] = []
    /// Names of the operation that is being written, of the groups around it, and of the operations whose conditions
    /// provide it or one of these groups.
    private var enclosing: [String] = []
    private var included = 0
    /// Texts that have been read, because a file may be included many times.
    private var texts: [String: GraphText] = [:]
    /// Errors of all files, which are reported at once.
    private var failures: [Failure] = []
    /// True if no more operations are read, because a limit is exceeded or there are too many errors.
    private var isStopped = false

    private init() {}

    /// Returns a graph file with the graphs that it includes inserted. Its `${NAME}` are already replaced.
    static func expand(_ text: GraphText, _ substitution: Substitution) throws(Failure) -> GraphText {
        guard text.mentions("\"include\"") else { return text }
        let file = try GraphFile(text)
        var inclusion = Inclusion()
        inclusion.chain = [
            Source(text: text, file: file, substitution: substitution, identity: identity(of: text.path))
        ]
        // A single operation that becomes a group must not be read as a graph.
        let isAlone = file.operations.count == 1 && text.bytes.firstIndex { $0 > 0x20 } == file.operations[0].lowerBound
        var copied = 0
        if isAlone { inclusion.assembly.write("[", for: text, at: 0) }
        for range in file.operations {
            inclusion.assembly.copy(copied..<range.lowerBound, of: text)
            inclusion.writeOrFail(range, IncludedDefaults(), isTop: true)
            copied = range.upperBound
        }
        if let failure = inclusion.failure { throw failure }
        inclusion.assembly.copy(copied..<text.bytes.count, of: text)
        if isAlone { inclusion.assembly.write("]", for: text, at: 0) }
        return inclusion.assembly.text(path: text.path)
    }

    private var source: Source { chain[chain.count - 1] }

    // MARK: - Errors

    /// Adds an error. Those of a file that is included several times are added once.
    private mutating func add(_ failure: Failure) {
        guard !failures.contains(where: { $0.lines == failure.lines }) else { return }
        failures.append(failure)
        if failures.count >= Limits.problems { isStopped = true }
    }

    /// One failure for all errors; nil if there are none.
    private var failure: Failure? {
        guard var all = failures.first, failures.count > 1 else { return failures.first }
        all.problems = failures.flatMap { (failure) -> [LocatedProblem] in
            guard failure.problems.isEmpty else { return failure.problems }
            let message = failure.why + (failure.advice.map { ", " + $0 } ?? "")
            return [LocatedProblem(problem: .with { $0.message = message }, place: failure.what)]
        }
        return all
    }

    // MARK: - Operations

    /// Writes an operation of the innermost file, or adds its error, so that the errors of the others are found too.
    private mutating func writeOrFail(_ range: Range<Int>, _ defaults: IncludedDefaults, isTop: Bool) {
        guard !isStopped else { return }
        do throws(Failure) {
            try write(range, defaults, isTop: isTop)
        } catch {
            add(error)
        }
    }

    /// Writes an operation of the innermost file.
    ///
    /// - Parameter isTop: True if no group of that file contains it.
    private mutating func write(_ range: Range<Int>, _ defaults: IncludedDefaults, isTop: Bool) throws(Failure) {
        let text = source.text
        let members = GraphFile.members(text.bytes, range)
        func has(_ key: String) -> Bool {
            members.contains { $0.key == key && !JSONView(text.bytes, $0.value).isNull }
        }
        let includes = has("include")
        if includes, let other = (OperationKey.commands + [.operations]).map(\.text).first(where: has) {
            throw refusal(range.lowerBound, "\"include\" and \"\(other)\" cannot be used together", "write one of them")
        }
        let isGroup = includes || has("operations")
        let added = defaults.members(
            besides: members.map { (key: $0.key, view: JSONView(text.bytes, $0.value)) }, isGroup: isGroup, isTop: isTop
        )
        guard isGroup || !added.isEmpty || has("conditions") else { return assembly.copy(range, of: text) }
        let name = members.first { $0.key == "name" }.flatMap { JSONView(text.bytes, $0.value).text }
        if let name { enclosing.append(name) }
        defer { if name != nil { enclosing.removeLast() } }
        assembly.write("{", for: text, at: range.lowerBound)
        var isFirst = true
        var joined: Set<String> = []
        for member in members {
            let view = JSONView(text.bytes, member.value)
            if view.isNull || includes && ["include", "set"].contains(member.key) { continue }
            separate(&isFirst, text, member.offset)
            let below = added.filter { $0.key == member.key }
            if member.key == "operations", view.isArray {
                writeChildren(member.offset, view, defaults)
            } else if member.key == "conditions", view.isArray {
                writeConditions(member.offset, view, defaults, isTop: isTop)
            } else if !below.isEmpty, view.isObject {
                joined.insert(member.key)
                let own = IncludedDefaults.Member(
                    key: member.key, text: text, offset: member.offset, value: member.value)
                join([own] + below)
            } else {
                assembly.copy(member.offset..<member.value.upperBound, of: text)
            }
        }
        for member in added where !joined.contains(member.key) {
            separate(&isFirst, member.text, member.offset)
            if IncludedDefaults.joined.contains(member.key) {
                joined.insert(member.key)
                join(added.filter { $0.key == member.key })
            } else if member.key == "after" {
                writeAfter(member)
            } else {
                assembly.copy(member.offset..<member.value.upperBound, of: member.text)
            }
        }
        if includes { try writeIncluded(members, isFirst: isFirst, defaults) }
        assembly.write("}", for: text, at: range.lowerBound)
    }

    private mutating func separate(_ isFirst: inout Bool, _ text: GraphText, _ offset: Int) {
        if !isFirst { assembly.write(",", for: text, at: offset) }
        isFirst = false
    }

    private mutating func writeChildren(_ key: Int, _ children: JSONView, _ defaults: IncludedDefaults) {
        assembly.write("\"operations\":[", for: source.text, at: key)
        for (index, child) in children.elements.enumerated() {
            if index > 0 { assembly.write(",", for: source.text, at: child.range.lowerBound) }
            if child.isObject {
                writeOrFail(child.range, defaults, isTop: false)
            } else {
                assembly.copy(child.range, of: source.text)
            }
        }
        assembly.write("]", for: source.text, at: key)
    }

    /// Writes conditions. The operations that they provide may include files too.
    ///
    /// - Parameter isTop: True if no group of that file contains the operation.
    private mutating func writeConditions(
        _ key: Int, _ conditions: JSONView, _ defaults: IncludedDefaults, isTop: Bool
    ) {
        let text = source.text
        var copied = key
        for provided in conditions.elements.compactMap(GraphFile.provided(by:)) {
            assembly.copy(copied..<provided.range.lowerBound, of: text)
            writeOrFail(provided.range, defaults, isTop: isTop)
            copied = provided.range.upperBound
        }
        assembly.copy(copied..<conditions.range.upperBound, of: text)
    }

    /// Writes an object with the entries of all members; if several have the same key, the first counts.
    private mutating func join(_ members: [IncludedDefaults.Member]) {
        let first = members[0]
        assembly.write("\"\(first.key)\":{", for: first.text, at: first.offset)
        var isFirst = true
        var seen: Set<String> = []
        for member in members {
            let entries = GraphFile.members(member.text.bytes, member.value)
            for entry in entries where !seen.contains(entry.key) {
                separate(&isFirst, member.text, entry.offset)
                assembly.copy(entry.offset..<entry.value.upperBound, of: member.text)
            }
            seen.formUnion(entries.map(\.key))
        }
        assembly.write("}", for: first.text, at: first.offset)
    }

    /// Writes default dependencies, except those on an operation that waits for this one.
    private mutating func writeAfter(_ member: IncludedDefaults.Member) {
        assembly.write("\"after\":[", for: member.text, at: member.offset)
        var isFirst = true
        for element in member.view.elements {
            let reference = element.text ?? element.members.first { $0.key == "op" }?.value.text
            if let reference, enclosing.contains(reference) { continue }
            separate(&isFirst, member.text, element.range.lowerBound)
            assembly.copy(element.range, of: member.text)
        }
        assembly.write("]", for: member.text, at: member.offset)
    }

    // MARK: - Files

    private mutating func writeIncluded(
        _ members: [(key: String, offset: Int, value: Range<Int>)], isFirst: Bool, _ defaults: IncludedDefaults
    ) throws(Failure) {
        let text = source.text
        guard let member = members.first(where: { $0.key == "include" }) else { return }
        guard let path = JSONView(text.bytes, member.value).text, !path.isEmpty else {
            throw refusal(member.offset, "\"include\" must be the path of a graph file", nil)
        }
        let values = try values(members.first { $0.key == "set" })
        let inner = try open(path, at: member.offset, values)
        if let place = inner.file.placeOfObservers {
            add(
                Failure(
                    .refused, place, "an included file cannot have \"observers\"",
                    "write them beside \"include\", or in the file that includes it"))
        }
        assembly.write((isFirst ? "" : ",") + "\"operations\":[", for: text, at: member.offset)
        let below = defaults.under(inner.file, inner.text)
        chain.append(inner)
        for (index, range) in inner.file.operations.enumerated() {
            if index > 0 { assembly.write(",", for: inner.text, at: range.lowerBound) }
            writeOrFail(range, below, isTop: true)
            if assembly.count > Self.size, !isStopped {
                isStopped = true
                add(
                    refusal(
                        range.lowerBound, "the files have more than \(Self.size >> 20)M together", "split the graph"))
            }
        }
        chain.removeLast()
        assembly.write("]", for: text, at: member.offset)
    }

    private func values(_ member: (key: String, offset: Int, value: Range<Int>)?) throws(Failure) -> [Pair] {
        guard let member else { return [] }
        let view = JSONView(source.text.bytes, member.value)
        if view.isNull { return [] }
        guard view.isObject else {
            throw refusal(member.offset, "\"set\" must be an object of texts", "write {\"NAME\": \"VALUE\"}")
        }
        var pairs: [Pair] = []
        for entry in GraphFile.members(source.text.bytes, member.value) {
            guard let value = JSONView(source.text.bytes, entry.value).text else {
                throw refusal(entry.offset, "the value of \(entry.key) is not a text", "put it in quotes")
            }
            if let complaint = Substitution.complaint(aboutName: entry.key) {
                throw refusal(entry.offset, complaint, Substitution.adviceAboutNames)
            }
            pairs.append(Pair(key: entry.key, value: value))
        }
        return pairs
    }

    private mutating func open(_ path: String, at offset: Int, _ values: [Pair]) throws(Failure) -> Source {
        guard chain.count <= Self.depth else {
            throw refusal(offset, "files include each other more than \(Self.depth) deep", nil)
        }
        included += 1
        guard included <= Self.files else {
            isStopped = true
            throw refusal(offset, "there are more than \(Self.files) includes", "split the graph")
        }
        let located = Self.located(path, beside: source.text.path)
        let identity = Self.identity(of: located)
        if let identity, let start = chain.firstIndex(where: { $0.identity == identity }) {
            let names = chain[start...].map(\.text.shownPath) + [located]
            throw refusal(offset, "\(path) includes itself: \(names.joined(separator: " -> "))", "remove one of them")
        }
        let text: GraphText
        if let known = texts[located] {
            text = known
        } else {
            let bytes: [UInt8]
            do throws(SystemError) { bytes = try InputFile.bytes(of: located, atMost: Self.size) } catch {
                throw refusal(
                    offset, "cannot include \(located): \(SystemError.text(error.errno))",
                    "paths are relative to the file that includes")
            }
            text = try GraphText.parse(located, bytes, nil)
            texts[located] = text
        }
        let substitution = source.substitution.setting(values)
        let filled = try substitution.fill(text)
        return Source(text: filled, file: try GraphFile(filled), substitution: substitution, identity: identity)
    }

    private func refusal(_ offset: Int, _ why: String, _ advice: String?) -> Failure {
        Failure(.refused, source.text.place(of: offset), why, advice)
    }

    /// Returns a path relative to the directory of the file that contains it.
    private static func located(_ path: String, beside file: String) -> String {
        if path.hasPrefix("/") { return path }
        guard file != "-", let slash = file.lastIndex(of: "/") else { return path == "-" ? "./-" : path }
        return file[...slash] + path
    }

    /// Returns the path of a file without links; nil if there is no such file.
    private static func identity(of path: String) -> String? {
        guard path != "-", let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }
}

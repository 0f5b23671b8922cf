/// Reads names, commands, edges and categories directly into the tables.
extension GraphDecoder {
    // MARK: - Names

    mutating func readName(_ draft: inout OperationDraft, _ scanner: inout JSONScanner) throws(JSONError) {
        let kind = try scanner.peek()
        guard kind == .string else { throw scanner.expectedString(butFound: kind) }
        let text = try scanner.text()
        let symbol = try symbol(of: text, scanner) { (bytes) in
            if let complaint = NameSyntax.complaint(aboutName: bytes) { return complaint }
            return NameSyntax.isNumber(bytes) ? "must not be all digits: that would be an id" : nil
        }
        let taken = operationOfName[Int(symbol)]
        guard taken < 0 else {
            throw scanner.error(
                .refused("\"\(input.names[symbol])\" is already used by operation \(taken + 1)"), at: text.start - 1)
        }
        operationOfName[Int(symbol)] = draft.index
        draft.operation.name = symbol
    }

    /// Returns the index of a text in the table of names.
    private mutating func symbol(
        of text: JSONScanner.Text, _ scanner: JSONScanner, check: (UnsafeBufferPointer<UInt8>) -> String?
    ) throws(JSONError) -> Int32 {
        let unescaped = text.hasEscapes ? scanner.unescaped(text) : nil
        let problem: String?
        let symbol: Int32?
        if let unescaped {
            problem = unescaped.withUnsafeBufferPointer { check($0) }
            symbol = problem == nil ? input.names.intern(unescaped) : nil
        } else {
            let bytes = scanner.slice(text.start..<text.end)
            problem = check(bytes)
            symbol = problem == nil ? input.names.intern(bytes) : nil
        }
        if let problem { throw scanner.error(.refused(problem), at: text.start - 1) }
        return try known(symbol, scanner)
    }

    private mutating func known(_ symbol: Int32?, _ scanner: JSONScanner) throws(JSONError) -> Int32 {
        guard let symbol else { throw scanner.error(.refused("the names together are too long")) }
        if Int(symbol) == operationOfName.count { operationOfName.append(-1) }
        return symbol
    }

    mutating func queue(_ scanner: inout JSONScanner) throws(JSONError) -> Int32 {
        let start = scanner.position
        let name = try scanner.name()
        guard let index = input.queues.intern(Array(name.utf8)) else {
            throw scanner.error(.refused("too many queues"), at: start)
        }
        return index
    }

    // MARK: - Commands

    mutating func command(_ scanner: inout JSONScanner) throws(JSONError) -> Int32 {
        guard try scanner.peek() == .array else { throw scanner.error(.expected("an array of command and arguments")) }
        let start = scanner.position
        cache.scratch.removeAll()
        cache.scratch.beginArray()
        var count = 0
        var bytes = 0
        var errors: [JSONError] = []
        try scanner.beginArray()
        while try scanner.nextElement() {
            let before = scanner.state
            do throws(JSONError) { bytes += try appendArgument(&scanner) + 1 } catch {
                try scanner.resume(after: error.inside("[\(count)]"), at: before, &errors)
            }
            count += 1
            guard count <= Limits.arguments else {
                throw scanner.error(.refused("more than \(Limits.arguments) words"), at: start).after(errors)
            }
            guard bytes <= Limits.commandBytes else {
                throw scanner.error(.refused("longer than \(Limits.commandBytes) bytes"), at: start).after(errors)
            }
        }
        try scanner.finish(valueAt: start, errors)
        cache.scratch.endArray()
        if count == 0 { throw scanner.error(.refused("must name a command"), at: start) }
        return try internCommand(scanner, start)
    }

    /// Adds the next argument to the command that is being read, and returns the number of its bytes.
    private mutating func appendArgument(_ scanner: inout JSONScanner) throws(JSONError) -> Int {
        let kind = try scanner.peek()
        guard kind == .string else { throw scanner.expectedString(butFound: kind) }
        let text = try scanner.text()
        guard text.hasEscapes else {
            cache.scratch.string(utf8: scanner.slice(text.start..<text.end))
            return text.count
        }
        let characters = scanner.unescaped(text)
        if characters.contains(0) {
            throw scanner.error(.refused("must not contain a NUL"), at: text.start - 1)
        }
        characters.withUnsafeBufferPointer { cache.scratch.string(utf8: $0) }
        return characters.count
    }

    mutating func shell(_ scanner: inout JSONScanner) throws(JSONError) -> Int32 {
        let start = scanner.position
        let text = try scanner.plainString(atMost: Limits.commandBytes)
        cache.scratch.removeAll()
        ["/bin/sh", "-c", text].write(to: &cache.scratch)
        return try internCommand(scanner, start)
    }

    private mutating func internCommand(_ scanner: JSONScanner, _ start: Int) throws(JSONError) -> Int32 {
        guard let index = input.commands.intern(cache.scratch.bytes) else {
            throw scanner.error(.refused("the commands together are too long"), at: start)
        }
        return index
    }

    // MARK: - Edges

    /// Reads edges. They contain indices of names until `finish` knows all names.
    mutating func readEdges(of draft: OperationDraft, _ scanner: inout JSONScanner) throws(JSONError) {
        scanner.skipSpace()
        let start = scanner.position
        let first = input.edges.count
        var index = 0
        var errors: [JSONError] = []
        try scanner.beginArray()
        while try scanner.nextElement() {
            let before = scanner.state
            do throws(JSONError) {
                let edge = try edge(from: draft.index, &scanner)
                // Duplicates in long lists are removed at once when the list is complete.
                if index >= Self.comparedEdges || !input.edges[first...].contains(edge) { append(edge) }
            } catch {
                try scanner.resume(after: error.inside("[\(index)]"), at: before, &errors)
            }
            index += 1
            if isBroken { return }
        }
        try scanner.finish(valueAt: start, errors)
        guard index > Self.comparedEdges else { return }
        var seen: Set<UInt64> = []
        let unique = input.edges[first...].filter { seen.insert(UInt64($0.on) << 8 | UInt64($0.when.bits)).inserted }
        input.edges.replaceSubrange(first..., with: unique)
    }

    private static let comparedEdges = 16

    mutating func append(_ edge: GraphInput.Edge) {
        guard input.edges.count < Limits.edgesPerSubmission else {
            return stop("a submission has at most \(Limits.edgesPerSubmission) dependencies")
        }
        input.edges.append(edge)
    }

    private mutating func edge(from index: Int32, _ scanner: inout JSONScanner) throws(JSONError) -> GraphInput.Edge {
        guard try scanner.peek() == .object else {
            return GraphInput.Edge(from: index, on: try reference(&scanner), when: .succeeded)
        }
        var edge = GraphInput.Edge(from: index, on: -1, when: .succeeded)
        try scanner.members(of: ["op", "when"], required: ["op"]) { (key, scanner) throws(JSONError) in
            if key == "op" { edge.on = try reference(&scanner) } else { edge.when = try scanner.choice() }
        }
        return edge
    }

    /// Reads a reference: a name, an id as text or number, or `name@graph`.
    private mutating func reference(_ scanner: inout JSONScanner) throws(JSONError) -> Int32 {
        let kind = try scanner.peek()
        if kind == .number {
            let id = try scanner.integer(in: 1...Int64.max)
            return try known(input.names.intern(Array(String(id).utf8)), scanner)
        }
        guard kind == .string else { throw scanner.error(.expected("a name, an id or \"name@graph\"")) }
        let text = try scanner.text()
        return try symbol(of: text, scanner) {
            guard !NameSyntax.isReference($0) else { return nil }
            let shown = String(decoding: $0.prefix(Limits.nameBytes), as: UTF8.self)
            return "\"\(shown)\" is not a name, an id or \"name@graph\""
        }
    }

    // MARK: - Categories

    mutating func categorySet(_ scanner: inout JSONScanner) throws(JSONError) -> Int32 {
        var uses: [CategoryUse] = []
        try scanner.elements(atMost: Limits.categoriesPerOperation) { (scanner) throws(JSONError) in
            uses.append(try CategoryUse(from: &scanner))
        }
        if uses.isEmpty { return -1 }
        if let index = cache.categories[uses] { return index }
        let index = Int32(input.categorySets.count)
        input.categorySets.append(uses)
        cache.categories[uses] = index
        cache.categoryUses += uses.count
        return index
    }

    // MARK: - Tables

    mutating func policyIndex(_ policy: Policy) -> Int32 {
        if let last = cache.lastPolicy, last.value == policy { return last.index }
        if policy == Policy() { return -1 }
        let index = cache.policies[policy] ?? Int32(input.policies.count)
        if index == input.policies.count {
            input.policies.append(policy)
            cache.policies[policy] = index
        }
        cache.lastPolicy = (policy, index)
        return index
    }

    mutating func detailsIndex(_ details: OperationDetails) -> Int32 {
        if details == OperationDetails() { return -1 }
        cache.scratch.removeAll()
        details.write(to: &cache.scratch)
        guard let index = input.details.intern(cache.scratch.bytes) else {
            stop("environments, directories and the like are too long in all")
            return -1
        }
        return index
    }

    mutating func labelsIndex(_ labels: StringMap) -> Int32 {
        if labels.entries.isEmpty { return -1 }
        cache.scratch.removeAll()
        labels.write(to: &cache.scratch)
        guard let index = input.labelSets.intern(cache.scratch.bytes) else {
            stop("the labels are too long in all")
            return -1
        }
        return index
    }
}

extension CategoryUse {
    init(from scanner: inout JSONScanner) throws(JSONError) {
        let kind = try scanner.peek()
        guard kind == .object else {
            self.init(name: try scanner.name())
            return
        }
        let start = scanner.position
        var name = ""
        var mode: Mode?
        var units: Int32?
        try scanner.members(of: ["name", "units", "mode"], required: ["name"]) { (key, scanner) throws(JSONError) in
            switch key {
            case "name": name = try scanner.name()
            case "units": units = Int32(try scanner.integer(in: 1...Int64(Int32.max)))
            default: mode = try scanner.choice()
            }
        }
        if let mode, mode != .units, units != nil {
            throw scanner.error(.refused("\"units\" and \"mode\" \(mode.rawValue) cannot be used together"), at: start)
        }
        self.init(name: name, mode: mode ?? .units, units: units ?? 1)
    }
}

extension JSONScanner {
    /// Reads the name of a queue, a category, an executor or a credential.
    mutating func name() throws(JSONError) -> String {
        _ = try peek()
        let start = position
        let name = try string()
        if let complaint = NameSyntax.complaint(aboutName: name.utf8) { throw error(.refused(complaint), at: start) }
        return name
    }

    /// Reads a priority: a number, or one of five names.
    mutating func priority() throws(JSONError) -> Int8 {
        let kind = try peek()
        if kind == .number { return Int8(try integer(in: Limits.priority)) }
        guard kind == .string else { throw error(.expected("a number or one of \(PriorityName.all)")) }
        return try choice(PriorityName.self).value
    }
}

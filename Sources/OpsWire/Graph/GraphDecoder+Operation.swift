/// One operation: its keys one by one, then what they come to together.
extension GraphDecoder {
    /// Reads an operation and what it holds. Throws only where the text is malformed; else problems are reported.
    mutating func readOperation(
        _ scanner: inout JSONScanner, parent: Int32, depth: Int, isProvided: Bool = false
    ) throws(JSONError) {
        let kind = try scanner.peek()
        guard input.operations.count < WireLimits.operations else {
            stop("a submission has at most \(WireLimits.operations) operations")
            return
        }
        var draft = OperationDraft(index: Int32(input.operations.count), start: scanner.position)
        draft.operation.parent = parent
        if isProvided { draft.operation.flags.insert(.provided) }
        input.operations.append(draft.operation)
        if kind != .object || depth > WireLimits.groupDepth {
            let why =
                kind == .object
                ? "groups are nested more than \(WireLimits.groupDepth) deep" : "an operation is an object"
            report(GraphProblem(index: Int(draft.index), message: why, part: part, offset: draft.start))
            try scanner.skip()
            return
        }
        let known = problems.count
        try readMembers(&draft, &scanner, depth: depth)
        if isBroken, problems.count == known { return }
        conclude(&draft)
        input.operations[Int(draft.index)] = draft.operation
        // The name may come after the key that was wrong.
        guard problems.count > known, draft.operation.name >= 0 else { return }
        for index in known..<problems.count where problems[index].index == Int(draft.index) {
            problems[index].name = input.names[draft.operation.name]
        }
    }

    /// Reads all members; a wrong value is reported and stepped over.
    mutating func readMembers(
        _ draft: inout OperationDraft, _ scanner: inout JSONScanner, depth: Int
    ) throws(JSONError) {
        try scanner.beginObject()
        while let text = try scanner.nextMember() {
            guard let key = find(text, scanner) else {
                let name = scanner.string(text)
                let message = "unknown key\(Nearest.suggestion(for: name, among: OperationKey.texts))"
                draft.hasUnknownKey = true
                report(draft, key: name, message, at: text.start - 1)
                try scanner.skip()
                continue
            }
            if draft.has(key) {
                report(draft, key: key.text, "is there twice", at: text.start - 1)
                try scanner.skip()
                continue
            }
            if draft.index < 0, key.isOfOneAlone {
                report(draft, key: key.text, "belongs to one operation alone", at: text.start - 1)
                try scanner.skip()
                continue
            }
            draft.seen |= key.bit
            let before = scanner
            do throws(JSONError) {
                try readValue(of: key, &draft, &scanner, depth: depth)
            } catch {
                scanner = before
                // Where the text itself is malformed this throws and ends the reading.
                try scanner.skip()
                report(draft, key: error.inside(key.text).path, error.reason.text, at: error.offset)
            }
            if isBroken { return }
        }
    }

    private func find(_ text: JSONScanner.Text, _ scanner: JSONScanner) -> OperationKey? {
        guard text.hasEscapes else { return OperationKey.find(scanner.slice(text.start..<text.end)) }
        return scanner.unescaped(text).withUnsafeBufferPointer { OperationKey.find($0) }
    }

    func problem(_ draft: OperationDraft, key: String?, _ message: String, at offset: Int?) -> GraphProblem {
        guard draft.index >= 0 else {
            return GraphProblem(key: key.map { "defaults.\($0)" } ?? "defaults", message: message, offset: offset)
        }
        return GraphProblem(
            index: Int(draft.index), key: key, message: message, part: part, offset: offset)
    }

    mutating func report(_ draft: OperationDraft, key: String?, _ message: String, at offset: Int? = nil) {
        report(problem(draft, key: key, message, at: offset ?? draft.start))
    }

    // MARK: - Values

    private mutating func readValue(
        of key: OperationKey, _ draft: inout OperationDraft, _ scanner: inout JSONScanner, depth: Int
    ) throws(JSONError) {
        switch key {
        case .name: try readName(&draft, &scanner)
        case .command: draft.operation.command = try command(&scanner)
        case .shell: draft.operation.command = try shell(&scanner)
        case .operations: try readChildren(&draft, &scanner, depth: depth)
        case .queue: draft.operation.queue = try queue(&scanner)
        case .priority: draft.priority = try scanner.priority()
        case .after: try readEdges(of: draft, &scanner)
        case .categories: draft.operation.categories = try categorySet(&scanner)
        case .barrier: try readFlag(.barrier, &draft, &scanner)
        case .held: try readFlag(.held, &draft, &scanner)
        case .conditions: try readConditions(&draft, &scanner, depth: depth)
        case .labels: draft.labels = try scanner.labels()
        case .key: try readKey(draft, &scanner)
        case .limit, .completion, .timeout, .grace, .deadline, .notBefore, .retry, .successCodes, .leftovers:
            var policy = draft.policy ?? defaults.policy
            _ = try policy.read(key, from: &scanner)
            draft.policy = policy
        case .observers, .qos, .environment, .directory, .umask, .stdin, .output, .user, .limits:
            var details = draft.details ?? defaults.details
            _ = try details.read(key, from: &scanner)
            draft.details = details
        }
    }

    private mutating func readFlag(
        _ flag: GraphInput.Flags, _ draft: inout OperationDraft, _ scanner: inout JSONScanner
    ) throws(JSONError) {
        if try scanner.bool() { draft.operation.flags.insert(flag) }
    }

    private mutating func readChildren(
        _ draft: inout OperationDraft, _ scanner: inout JSONScanner, depth: Int
    ) throws(JSONError) {
        draft.operation.flags.insert(.group)
        try scanner.beginArray()
        while try scanner.nextElement() {
            try readOperation(&scanner, parent: draft.index, depth: depth + 1)
            if isBroken { return }
        }
    }

    private mutating func readConditions(
        _ draft: inout OperationDraft, _ scanner: inout JSONScanner, depth: Int
    ) throws(JSONError) {
        var conditions: [Condition] = []
        try scanner.beginArray()
        while try scanner.nextElement() {
            let step = "[\(conditions.count)]"
            guard conditions.count < WireLimits.conditionsPerOperation else {
                throw scanner.error(.refused("at most \(WireLimits.conditionsPerOperation) are possible"))
            }
            var provide: JSONScanner.State?
            do throws(JSONError) { conditions.append(try Condition(from: &scanner, provide: &provide)) } catch {
                throw error.inside(step)
            }
            guard let provide else { continue }
            guard draft.index >= 0 else {
                throw scanner.error(.refused("not possible in defaults")).inside("provide").inside(step)
            }
            try readProvided(by: draft, at: provide, scanner, depth: depth)
            if isBroken { return }
        }
        var details = draft.details ?? defaults.details
        details.conditions = conditions
        draft.details = details
    }

    /// Adds the operation of a condition beside the one that wants it, which then waits for its end.
    private mutating func readProvided(
        by draft: OperationDraft, at state: JSONScanner.State, _ scanner: JSONScanner, depth: Int
    ) throws(JSONError) {
        var scanner = scanner
        scanner.state = state
        let index = Int32(input.operations.count)
        try readOperation(&scanner, parent: draft.operation.parent, depth: depth + 1, isProvided: true)
        append(GraphInput.Edge(from: draft.index, on: -1 - index, when: .finished))
    }

    private mutating func readKey(_ draft: OperationDraft, _ scanner: inout JSONScanner) throws(JSONError) {
        let key = try scanner.plainString(atMost: WireLimits.keyBytes)
        guard draft.index >= 0 else { return }
        guard hasKeys.insert(key).inserted else { throw scanner.error(.refused("another operation has the same key")) }
        input.keys.append((draft.index, key))
    }

    // MARK: - What the keys come to together

    /// Checks what only all keys together show, and fills the operation's places in the tables.
    private mutating func conclude(_ draft: inout OperationDraft) {
        let isGroup = draft.operation.flags.contains(.group)
        if isGroup { checkGroup(draft) } else { checkPlain(&draft) }
        if !isGroup, !draft.has(.after) { applyDefaultEdges(to: draft) }
        if !isGroup {
            if !draft.has(.barrier) { draft.operation.flags.formUnion(defaults.flags.intersection(.barrier)) }
            if !draft.has(.held) { draft.operation.flags.formUnion(defaults.flags.intersection(.held)) }
            if !draft.has(.categories) { draft.operation.categories = defaults.categories }
        }
        draft.operation.priority = draft.priority ?? .min
        let details = concludedDetails(draft, isGroup: isGroup)
        draft.operation.details = details.map { detailsIndex($0) } ?? (isGroup ? -1 : defaults.detailsIndex)
        let policy = concludedPolicy(draft, details, isGroup: isGroup)
        draft.operation.policy = policy.map { policyIndex($0) } ?? (isGroup ? -1 : defaults.policyIndex)
        if let labels = draft.labels { draft.operation.labels = labelsIndex(labels) }
    }

    private mutating func checkGroup(_ draft: OperationDraft) {
        for key in OperationKey.allCases where key.isOfProcess && draft.has(key) {
            report(draft, key: key.text, "a group has no process; give it to the operations inside")
        }
    }

    private mutating func checkPlain(_ draft: inout OperationDraft) {
        if draft.has(.operations) { return }
        if draft.has(.limit) { report(draft, key: "limit", "only a group (with \"operations\") has a limit") }
        if draft.has(.command), draft.has(.shell) {
            report(draft, key: "shell", "there is a \"command\" too; one of them is possible")
        } else if !draft.has(.command), !draft.has(.shell) {
            draft.operation.command = defaults.command
            // An unknown key may well be a mistyped one of these, and has been told.
            if defaults.command < 0, !draft.hasUnknownKey {
                report(draft, key: nil, "has no \"command\", \"shell\" or \"operations\"")
            }
        }
    }

    /// Nil when nothing of its own differs from the defaults.
    private func concludedDetails(_ draft: OperationDraft, isGroup: Bool) -> OperationDetails? {
        guard let own = draft.details, isGroup else { return draft.details }
        var details = OperationDetails()
        if draft.has(.conditions) { details.conditions = own.conditions }
        if draft.has(.observers) { details.observers = own.observers }
        return details
    }

    private func concludedPolicy(_ draft: OperationDraft, _ details: OperationDetails?, isGroup: Bool) -> PolicyInput? {
        guard draft.policy != nil || draft.has(.conditions) || draft.has(.observers) else { return nil }
        var policy = draft.policy ?? defaults.policy
        if isGroup {
            let own = policy
            policy = PolicyInput()
            policy.childLimit = own.childLimit
            if draft.has(.timeout) { policy.timeout = own.timeout }
            if draft.has(.grace) { policy.grace = own.grace }
            if draft.has(.deadline) { policy.deadline = own.deadline }
            if draft.has(.notBefore) { policy.notBefore = own.notBefore }
        }
        if let details {
            policy.conditions = details.conditions.map(\.policy)
            policy.observers = details.observers.present
        }
        return policy
    }
}

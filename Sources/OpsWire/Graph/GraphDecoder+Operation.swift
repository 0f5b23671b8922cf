/// Reads one operation: first its keys one by one, then their combination.
extension GraphDecoder {
    /// Begins to read the next operation. Malformed JSON is thrown; other problems are reported.
    ///
    /// A group stays open on the stack, with the scanner before its first child, and `read(downTo:)` continues from
    /// there.
    mutating func beginOperation(
        _ scanner: inout JSONScanner, parent: Int32, isProvided: Bool = false
    ) throws(JSONError) {
        let kind = try scanner.peek()
        guard input.operations.count < Limits.operationsPerSubmission else {
            stop("a submission has at most \(Limits.operationsPerSubmission) operations")
            return
        }
        var draft = OperationDraft(
            index: Int32(input.operations.count), start: scanner.position, knownProblems: problems.count)
        draft.operation.parent = parent
        if isProvided { draft.operation.flags.insert(.provided) }
        input.operations.append(draft.operation)
        let isTooDeep = openGroups.count > Limits.groupDepth
        guard kind == .object, !isTooDeep else {
            let why =
                isTooDeep
                ? "groups are nested more than \(Limits.groupDepth) deep" : "an operation must be an object"
            report(GraphProblem(index: Int(draft.index), message: why, offset: draft.start))
            try scanner.skip()
            return
        }
        try scanner.beginObject()
        try continueOperation(draft, &scanner)
    }

    /// Reads the contents of open groups until only `floor` of them are open; returns false if the budget ends earlier.
    mutating func read(
        downTo floor: Int, _ scanner: inout JSONScanner, _ budget: inout Int
    ) throws(JSONError) -> Bool {
        while openGroups.count > floor, !isBroken {
            guard budget > 0 else { return false }
            if try scanner.nextElement() {
                budget -= 1
                try beginOperation(&scanner, parent: openGroups[openGroups.count - 1].index)
            } else {
                try continueOperation(openGroups.removeLast(), &scanner)
            }
        }
        return true
    }

    /// Reads the members of an operation to their end, or to its children.
    private mutating func continueOperation(_ open: OperationDraft, _ scanner: inout JSONScanner) throws(JSONError) {
        var draft = open
        guard try readMembers(&draft, &scanner) else { return openGroups.append(draft) }
        if isBroken { return }
        conclude(&draft)
        input.operations[Int(draft.index)] = draft.operation
        // The name may come after the key with the problem.
        guard problems.count > draft.knownProblems, draft.operation.name >= 0 else { return }
        for index in draft.knownProblems..<problems.count where problems[index].index == Int(draft.index) {
            problems[index].name = input.names[draft.operation.name]
        }
    }

    /// Reads all members, or those before the children of a group (then it returns false). The errors of a wrong value
    /// are reported, and it is skipped.
    mutating func readMembers(_ draft: inout OperationDraft, _ scanner: inout JSONScanner) throws(JSONError) -> Bool {
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
                report(draft, key: key.text, "occurs twice", at: text.start - 1)
                try scanner.skip()
                continue
            }
            // null means that the key is absent, as for parameters of calls: programs write null for keys without a
            // value.
            if try scanner.skipNull() { continue }
            if draft.index < 0, key.isOfOneAlone {
                report(
                    draft, key: key.text, "is not possible in defaults: it belongs to a single operation",
                    at: text.start - 1)
                try scanner.skip()
                continue
            }
            draft.seen |= key.bit
            let before = scanner.state
            do throws(JSONError) {
                if key == .operations {
                    draft.operation.flags.insert(.group)
                    try scanner.beginArray()
                    return false
                }
                try readValue(of: key, &draft, &scanner)
            } catch {
                scanner.state = before
                // If the JSON itself is malformed, this throws and ends the reading.
                try scanner.skip()
                for found in error.inside(key.text).all where !isBroken {
                    report(draft, key: found.path, found.reason.text, at: found.offset)
                }
            }
            if isBroken { break }
        }
        return true
    }

    private func find(_ text: JSONScanner.Text, _ scanner: JSONScanner) -> OperationKey? {
        guard text.hasEscapes else { return OperationKey.find(scanner.slice(text.start..<text.end)) }
        return scanner.unescaped(text).withUnsafeBufferPointer { OperationKey.find($0) }
    }

    func problem(_ draft: OperationDraft, key: String?, _ message: String, at offset: Int?) -> GraphProblem {
        guard draft.index >= 0 else {
            return GraphProblem(key: key.map { "defaults.\($0)" } ?? "defaults", message: message, offset: offset)
        }
        return GraphProblem(index: Int(draft.index), key: key, message: message, offset: offset)
    }

    mutating func report(_ draft: OperationDraft, key: String?, _ message: String, at offset: Int? = nil) {
        report(problem(draft, key: key, message, at: offset ?? draft.start))
    }

    // MARK: - Values

    private mutating func readValue(
        of key: OperationKey, _ draft: inout OperationDraft, _ scanner: inout JSONScanner
    ) throws(JSONError) {
        switch key {
        case .name: try readName(&draft, &scanner)
        case .command: draft.operation.command = try command(&scanner)
        case .shell: draft.operation.command = try shell(&scanner)
        case .include: throw scanner.error(.refused("is for graph files, where opsctl submit replaces it"))
        case .set: throw scanner.error(.refused("belongs to \"include\""))
        case .operations: preconditionFailure("a group's operations are read one by one")
        case .queue: draft.operation.queue = try queue(&scanner)
        case .priority: draft.priority = try scanner.priority()
        case .after: try readEdges(of: draft, &scanner)
        case .categories: draft.operation.categories = try categorySet(&scanner)
        case .barrier: try readFlag(.barrier, &draft, &scanner)
        case .held: try readFlag(.held, &draft, &scanner)
        case .conditions: try readConditions(&draft, &scanner)
        case .labels: draft.labels = try scanner.labels()
        case .key: try readKey(draft, &scanner)
        case .http:
            var details = draft.details ?? defaults.details
            details.http = try HTTPOptions(from: &scanner, isStored: false)
            draft.details = details
        case _ where Policy.isKey(key):
            var policy = draft.policy ?? defaults.policy
            let isRead = try policy.read(key, from: &scanner, now: now)
            precondition(isRead, "no reader for \(key)")
            draft.policy = policy
        default:
            var details = draft.details ?? defaults.details
            let isRead = try details.read(key, from: &scanner)
            precondition(isRead, "no reader for \(key)")
            draft.details = details
        }
    }

    private mutating func readFlag(
        _ flag: GraphInput.Flags, _ draft: inout OperationDraft, _ scanner: inout JSONScanner
    ) throws(JSONError) {
        if try scanner.bool() { draft.operation.flags.insert(flag) }
    }

    private mutating func readConditions(
        _ draft: inout OperationDraft, _ scanner: inout JSONScanner
    ) throws(JSONError) {
        scanner.skipSpace()
        let start = scanner.position
        var conditions: [Condition] = []
        var index = 0
        var errors: [JSONError] = []
        try scanner.beginArray()
        while try scanner.nextElement() {
            let step = "[\(index)]"
            guard index < Limits.conditionsPerOperation else {
                throw scanner.error(.refused("at most \(Limits.conditionsPerOperation) are possible")).after(errors)
            }
            index += 1
            let before = scanner.state
            var provide: JSONScanner.State?
            do throws(JSONError) { conditions.append(try Condition(from: &scanner, provide: &provide)) } catch {
                try scanner.resume(after: error.inside(step), at: before, &errors)
            }
            guard let provide else { continue }
            if let reason = refusalOfProvided(by: draft) {
                let refusal = scanner.error(.refused(reason), at: provide.position)
                errors.append(refusal.inside("provide").inside(step))
                continue
            }
            try readProvided(by: draft, at: provide, scanner)
            if isBroken { return }
        }
        try scanner.finish(valueAt: start, errors)
        var details = draft.details ?? defaults.details
        details.conditions = conditions
        draft.details = details
    }

    /// Returns the reason why conditions of an operation cannot provide one; nil if they can.
    private func refusalOfProvided(by draft: OperationDraft) -> String? {
        if draft.index < 0 { return "not possible in defaults" }
        guard providedDepth < Limits.providedDepth else {
            return "provided operations are nested more than \(Limits.providedDepth) deep"
        }
        return nil
    }

    /// Adds the operation that a condition provides. The operation with the condition waits for its end.
    private mutating func readProvided(
        by draft: OperationDraft, at state: JSONScanner.State, _ scanner: JSONScanner
    ) throws(JSONError) {
        var scanner = scanner
        scanner.state = state
        providedDepth += 1
        defer { providedDepth -= 1 }
        let index = Int32(input.operations.count)
        if !defaults.after.isEmpty { providers[index] = draft.index }
        let floor = openGroups.count
        try beginOperation(&scanner, parent: draft.operation.parent, isProvided: true)
        var budget = Int.max
        _ = try read(downTo: floor, &scanner, &budget)
        append(GraphInput.Edge(from: draft.index, on: -1 - index, when: .finished))
    }

    private mutating func readKey(_ draft: OperationDraft, _ scanner: inout JSONScanner) throws(JSONError) {
        let key = try scanner.plainString(atMost: Limits.keyBytes)
        guard draft.index >= 0 else { return }
        guard hasKeys.insert(key).inserted else { throw scanner.error(.refused("another operation has the same key")) }
        input.keys.append((draft.index, key))
    }
}

/// Checks that need all operations of a submission.
extension GraphDecoder {
    /// Reads the rest and returns the whole submission, or throws all of its problems. If there are problems, unknown
    /// queues are reported with them; in a valid submission the caller looks up the queues.
    public mutating func finish(queues: () -> [String] = { [] }) throws(GraphRefusal) -> GraphInput {
        while step() {}
        if !isBroken {
            if input.operations.isEmpty { report(GraphProblem(message: "there are no operations")) }
            resolveInherited()
            if !isBroken { applyDefaultEdges() }
            if !isBroken { resolveEdges() }
        }
        guard problems.isEmpty else {
            reportQueues(outside: queues())
            throw GraphRefusal(problems: inOrder(problems))
        }
        input.names.seal()
        input.queues.seal()
        input.commands.seal()
        input.details.seal()
        input.labelSets.seal()
        var result = GraphInput()
        swap(&result, &input)
        return result
    }

    private mutating func reportQueues(outside known: [String]) {
        guard !known.isEmpty, !isBroken else { return }
        for queue in 0..<Int32(input.queues.count) where !known.contains(input.queues[queue]) {
            guard let index = input.operations.firstIndex(where: { $0.queue == queue }) else { continue }
            let name = input.queues[queue]
            report(
                GraphProblem(
                    index: index, name: input.name(of: index), key: "queue",
                    message: "there is no queue \"\(name)\"\(Nearest.suggestion(for: name, among: known))"))
            if isBroken { return }
        }
    }

    /// Returns the problems of the whole submission first, then those of each operation in the order in which they were
    /// found.
    private func inOrder(_ problems: [GraphProblem]) -> [GraphProblem] {
        problems.enumerated().sorted { a, b in
            (a.element.index ?? -1, a.offset) < (b.element.index ?? -1, b.offset)
        }.map(\.element)
    }

    /// Resolves keys that an operation can inherit: its own value, or else that of its group, or else the default. A
    /// group comes before its children.
    private mutating func resolveInherited() {
        let standardQueue = defaults.queue >= 0 ? defaults.queue : (input.queues.intern(Array("default".utf8)) ?? 0)
        let standardLabels = labelsIndex(defaults.labels)
        let fixedLabels = labelsIndex(self.fixedLabels)
        var merged: [UInt64: Int32] = [:]
        for index in input.operations.indices {
            var operation = input.operations[index]
            let parent = operation.parent >= 0 ? input.operations[Int(operation.parent)] : nil
            if operation.queue < 0 { operation.queue = parent?.queue ?? standardQueue }
            if operation.priority == .min { operation.priority = parent?.priority ?? defaults.priority ?? 0 }
            let inherited = parent?.labels ?? standardLabels
            operation.labels = merge(operation.labels, over: inherited, of: index, &merged)
            operation.labels = merge(fixedLabels, over: operation.labels, of: index, &merged)
            input.operations[index] = operation
            if isBroken { return }
        }
    }

    /// Returns the index of labels with others over them.
    /// - Parameter merged: Indices of earlier results, by those of both.
    private mutating func merge(
        _ own: Int32, over inherited: Int32, of index: Int, _ merged: inout [UInt64: Int32]
    ) -> Int32 {
        guard own >= 0, inherited >= 0 else { return max(own, inherited) }
        let pair = UInt64(UInt32(bitPattern: inherited)) << 32 | UInt64(UInt32(bitPattern: own))
        if let known = merged[pair] { return known }
        var labels = self.labels(inherited)
        for entry in self.labels(own).entries {
            labels.entries.removeAll { ExactText($0.name) == ExactText(entry.name) }
            labels.entries.append(entry)
        }
        if labels.entries.count > Limits.labels {
            report(
                GraphProblem(
                    index: index, name: input.name(of: index), key: "labels",
                    message: "at most \(Limits.labels) are possible, those of its groups included"))
        }
        let result = labelsIndex(labels)
        merged[pair] = result
        return result
    }

    private func labels(_ index: Int32) -> StringMap {
        let read = input.labelSets.utf8(index).withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            do throws(InvalidParameter) { return StringMap?.some(try StringMap(from: &scanner)) } catch { return nil }
        }
        guard let read else { preconditionFailure("a table holds labels that were not written by their own writer") }
        return read
    }

    /// Replaces names by indices. A name that is not in this submission must refer to an existing operation.
    private mutating func resolveEdges() {
        // If no other operation of the submission has a name, a name can only refer to an existing operation: the
        // newest with that name.
        let meansOutside =
            joinsGraph || input.operations.count == 1 || input.operations.allSatisfy { $0.name < 0 }
        var externals: [Int32: Int32] = [:]
        for index in input.edges.indices {
            var edge = input.edges[index]
            if edge.on < 0 {
                edge.on = -1 - edge.on
            } else {
                let symbol = edge.on
                let local = operationOfName[Int(symbol)]
                if local >= 0 {
                    edge.on = local
                } else if meansOutside || isExternal(symbol) {
                    let external = externals[symbol] ?? Int32(input.externals.count)
                    if external == input.externals.count {
                        input.externals.append(input.names[symbol])
                        externals[symbol] = external
                    }
                    edge.on = -1 - external
                } else {
                    reportUnknown(symbol, edge)
                    if isBroken { return }
                    continue
                }
            }
            if edge.on == edge.from { reportSelf(edge) }
            input.edges[index] = edge
            if isBroken { return }
        }
    }

    private func isExternal(_ symbol: Int32) -> Bool {
        let text = input.names.utf8(symbol)
        return text.contains(UInt8(ascii: "@")) || NameSyntax.isNumber(text)
    }

    private mutating func reportUnknown(_ symbol: Int32, _ edge: GraphInput.Edge) {
        let name = input.names[symbol]
        // With very many names, searching all for the nearest one would take too long.
        let names = input.operations.prefix(20_000).compactMap { $0.name < 0 ? nil : input.names[$0.name] }
        let near = Nearest.suggestion(for: name, among: names)
        report(
            GraphProblem(
                index: Int(edge.from), name: input.name(of: Int(edge.from)), key: "after",
                message: "no operation of this graph is named \"\(name)\"\(near)"))
    }

    private mutating func reportSelf(_ edge: GraphInput.Edge) {
        report(
            GraphProblem(
                index: Int(edge.from), name: input.name(of: Int(edge.from)), key: "after", message: "waits for itself"))
    }
}

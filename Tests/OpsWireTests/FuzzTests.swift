import Testing

@testable import OpsWire

/// Random input: nothing crashes, nothing invalid is accepted, and memory stays limited.
@Suite struct FuzzTests {
    static let seeds = Array(UInt64(1)...8)

    @Test(arguments: seeds) func `frames of random bytes end at their zero bytes and within the limit`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var decoder = FrameDecoder(limit: 1000)
        var held: [UInt8] = []
        for _ in 0..<500 {
            let chunk = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random) < 2 ? 0 : UInt8.random(in: 1...255, using: &random)
            }
            decoder.append(chunk)
            held += chunk
            do throws(FrameDecoder.TooLarge) {
                while let frame = try decoder.next() {
                    let end = held.firstIndex(of: 0)
                    #expect(frame == Array(held[..<(end ?? 0)]))
                    held.removeFirst((end ?? 0) + 1)
                }
                #expect(!held.contains(0))
                #expect(decoder.buffered <= 1000)
            } catch {
                #expect((held.firstIndex(of: 0) ?? held.count) > 1000)
                (decoder, held) = (FrameDecoder(limit: 1000), [])
            }
        }
    }

    /// Calls of every method, with parameters of the right type and of other types.
    @Test(arguments: seeds) func `a damaged request is refused or well-formed`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ 100)
        let file = try InterfaceFile(ControlInterface.description)
        var taken = 0
        for round in 0..<2000 {
            let method = file.methods[round % file.methods.count]
            var members: [JSONValue.Member] = []
            for parameter in method.parameters where Int.random(in: 0..<4, using: &random) > 0 {
                members.append(.init(parameter.name, value(of: parameter.type, file, &random)))
            }
            if Int.random(in: 0..<10, using: &random) == 0 { members.append(.init(Fuzz.string(&random), nil)) }
            let call: JSONValue = [
                "method": .string("\(file.name).\(method.name)"),
                "parameters": .object(members.shuffled(using: &random)),
                "more": true,
            ]
            var frame = Array(call.text.utf8)
            if Int.random(in: 0..<3, using: &random) == 0 { Fuzz.mutate(&frame, &random) }
            if let request = request(frame) {
                taken += 1
                #expect(Fuzz.isWellFormed(frame))
                if case .submit(let submit) = request { decode(submit.operations.bytes, submit.terms.defaults?.bytes) }
            }
        }
        #expect(taken > 300)
    }

    private func request(_ frame: [UInt8]) -> ControlRequest? {
        do throws(JSONError) {
            let call = try Call(frame: frame)
            do throws(ServiceError) { return try ControlRequest(call) } catch { return nil }
        } catch { return nil }
    }

    private func value(of type: String, _ file: InterfaceFile, _ random: inout SeededGenerator) -> JSONValue {
        if Int.random(in: 0..<25, using: &random) == 0 { return Fuzz.json(&random, depth: 2) }
        switch type {
        case _ where type.hasPrefix("?"):
            return Bool.random(using: &random) ? nil : value(of: String(type.dropFirst()), file, &random)
        case "[]object": return .array((0..<3).map { _ in graphOperation(&random) })
        case _ where type.hasPrefix("[]"):
            return .array((0..<2).map { _ in value(of: String(type.dropFirst(2)), file, &random) })
        case _ where type.hasPrefix("[string]"): return .object([.init("A", .string(Fuzz.string(&random)))])
        case _ where type.hasPrefix("("):
            let names = type.dropFirst().dropLast().split(separator: ",").map { $0.filter { $0 != " " } }
            return .string(names.randomElement(using: &random) ?? "")
        case "bool": return .bool(.random(using: &random))
        case "int": return .integer(.random(in: -5...1_000_000, using: &random))
        case "float": return .double(.random(in: 0...1, using: &random))
        case "string": return .string(Fuzz.string(&random))
        case "object": return .object([.init("priority", 5)])
        default:
            let members = file.types.first { $0.name == type }?.members ?? []
            return .object(members.map { .init($0.name, value(of: $0.type, file, &random)) })
        }
    }

    // MARK: - Graphs

    private func graphOperation(_ random: inout SeededGenerator) -> JSONValue {
        var members: [JSONValue.Member] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard let forms = OperationKeyTests.forms.randomElement(using: &random) else { continue }
            let isRight = Int.random(in: 0..<8, using: &random) > 0
            let texts = isRight ? forms.taken : forms.refused.map(\.0)
            // Forms with a duplicate key are not values; null replaces them.
            let value = texts.randomElement(using: &random).flatMap { try? JSONValue(Array($0.utf8)) }
            if !members.contains(where: { $0.key == forms.key }) { members.append(.init(forms.key, value ?? nil)) }
        }
        return .object(members)
    }

    @discardableResult
    private func decode(_ operations: [UInt8], _ defaults: [UInt8]?, slice: Int = .max) -> GraphInput? {
        var decoder = GraphDecoder(defaults: defaults, now: .zero)
        decoder.add(operations)
        while decoder.step(maxOperations: slice) {}
        do throws(GraphRefusal) {
            let graph = try decoder.finish()
            check(graph)
            return graph
        } catch {
            #expect(!error.problems.isEmpty && error.problems.count <= Limits.problems)
            return nil
        }
    }

    /// Checks that every index is inside its table.
    private func check(_ graph: GraphInput) {
        for (index, operation) in graph.operations.enumerated() {
            #expect(operation.parent < Int32(index))
            #expect(operation.parent < 0 || graph.operations[Int(operation.parent)].flags.contains(.group))
            #expect(operation.name < Int32(graph.names.count) && operation.details < Int32(graph.details.count))
            #expect(0..<Int32(graph.queues.count) ~= operation.queue && operation.labels < Int32(graph.labelSets.count))
            #expect(
                operation.policy < Int32(graph.policies.count) && operation.categories < Int32(graph.categorySets.count)
            )
            #expect((operation.command < 0) == operation.flags.contains(.group))
            #expect(-100...100 ~= operation.priority)
        }
        for edge in graph.edges {
            switch edge.target {
            case .local(let place): #expect(graph.operations.indices.contains(Int(place)) && place != edge.from)
            case .external(let place): #expect(graph.externals.indices.contains(Int(place)))
            }
        }
    }

    @Test(arguments: seeds) func `a graph decoded step by step is accepted or refused as a whole one`(seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 200)
        var taken = 0
        for _ in 0..<400 {
            let operations = (0..<Int.random(in: 1...5, using: &random)).map { index -> JSONValue in
                guard case .object(var members) = graphOperation(&random) else { return nil }
                members.removeAll { $0.key == "name" || $0.key == "key" }
                members.append(.init("name", .string("n\(index)")))
                let isRunnable = members.contains { ["command", "shell", "operations"].contains($0.key) }
                if !isRunnable { members.append(.init("command", ["true"])) }
                return .object(members)
            }
            var bytes = Array(JSONValue.array(operations).text.utf8)
            if Int.random(in: 0..<3, using: &random) == 0 { Fuzz.mutate(&bytes, &random) }
            let whole = decode(bytes, nil)
            let sliced = decode(bytes, nil, slice: 1)
            #expect((whole == nil) == (sliced == nil))
            #expect(whole?.edges == sliced?.edges && whole?.operations.count == sliced?.operations.count)
            if whole != nil { taken += 1 }
        }
        #expect(taken > 20)
    }

    @Test(arguments: seeds) func `a damaged row is refused or read back as it was written`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ 300)
        let file = try InterfaceFile(ControlInterface.description)
        let rows = file.types.first { $0.name == "Operation" }?.members ?? []
        for _ in 0..<300 {
            let row = JSONValue.object(rows.map { .init($0.name, value(of: $0.type, file, &random)) })
            var bytes = Array(row.text.utf8)
            if Bool.random(using: &random) { Fuzz.mutate(&bytes, &random) }
            do throws(InvalidParameter) {
                let read = try scan(bytes) { (scanner) throws(InvalidParameter) in try OperationRow(from: &scanner) }
                var writer = JSONWriter()
                read.write(to: &writer)
                let again = try scan(writer.bytes) { (scanner) throws(InvalidParameter) in
                    try OperationRow(from: &scanner)
                }
                #expect(again == read)
            } catch { #expect(!error.reason.isEmpty) }
        }
    }
}

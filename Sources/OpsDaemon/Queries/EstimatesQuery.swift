internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Estimates how long each operation of a submission takes: the median of the latest successes of its name in graphs of
/// the same name; else of its program in its queue; else a second. Successes of other users do not count.
struct EstimatesQuery: Query {
    private struct Program: Hashable {
        var queue: String
        var program: String
    }

    private let input: GraphInput
    private let graph: String?
    private let user: UInt32
    /// The newest operation at the beginning of the query.
    private let newest: Int64
    /// Names in the order of their first operations, and the number of those that were looked up.
    private var names: [String] = []
    private var namesAsked = 0
    private var ofNames: [String: Int64] = [:]
    private var wanted: Set<Program>?
    private var ofPrograms: [Program: [Int64]] = [:]
    private var scanned: Int64 = 0

    /// Estimate in milliseconds of an operation of which nothing is known.
    private static let unknown: Int64 = 1000
    private static let namesInStep = 20
    private static let operationsInStep: Int64 = 200
    /// Number of names that are looked up for one submission.
    private static let mostNames = 10_000
    /// Number of the newest operations among which successes of a program are looked for.
    private static let mostScanned: Int64 = 5000

    init(_ input: GraphInput, graph: String?, of user: UInt32, newest: OperationID) {
        self.input = input
        self.graph = graph
        self.user = user
        self.newest = newest.rawValue
        var seen: Set<String> = []
        for index in input.operations.indices where names.count < Self.mostNames {
            if let name = input.name(of: index), seen.insert(name).inserted { names.append(name) }
        }
    }

    var heldBytes: Int { (names.count + ofNames.count * 2 + ofPrograms.count * 2) * 64 }

    mutating func proceed(_ history: History) throws -> [Int64]? {
        if namesAsked < names.count {
            for name in names[namesAsked...].prefix(Self.namesInStep) {
                let durations = try history.durations(ofName: name, inGraphsNamed: graph, of: user)
                ofNames[name] = Self.median(durations)
            }
            namesAsked += Self.namesInStep
            return nil
        }
        guard wanted != nil else {
            wanted = Set(input.operations.indices.compactMap { isKnown($0) ? nil : program(of: $0) })
            return nil
        }
        if wanted?.isEmpty == false, scanned < min(newest, Self.mostScanned) {
            try scanPrograms(history)
            return nil
        }
        return input.operations.indices.map(estimate)
    }

    private mutating func scanPrograms(_ history: History) throws {
        let last = newest - scanned
        let first = max(1, last - Self.operationsInStep + 1)
        scanned += last - first + 1
        for run in try history.programRuns(from: OperationID(first), to: OperationID(last), of: user) {
            let program = Program(queue: run.queue, program: run.program)
            guard wanted?.contains(program) == true else { continue }
            ofPrograms[program, default: []].append(run.milliseconds)
            if ofPrograms[program]?.count == History.successes { wanted?.remove(program) }
        }
    }

    private func isKnown(_ index: Int) -> Bool { input.name(of: index).map { ofNames[$0] != nil } ?? false }

    private func program(of index: Int) -> Program? {
        let operation = input.operations[index]
        guard operation.command >= 0, let program = Self.program(of: input.commands[operation.command]) else {
            return nil
        }
        return Program(queue: operation.queue < 0 ? "default" : input.queues[operation.queue], program: program)
    }

    /// Returns the first word of a command, a JSON array that opsd has made.
    private static func program(of command: String) -> String? {
        do throws(JSONError) {
            return try scan(Array(command.utf8)) { (scanner) throws(JSONError) in
                try scanner.beginArray()
                guard try scanner.nextElement() else { return nil }
                let word = try scanner.string()
                while try scanner.nextElement() { _ = try scanner.skip() }
                return word
            }
        } catch {
            return nil
        }
    }

    private func estimate(_ index: Int) -> Int64 {
        if let name = input.name(of: index), let known = ofNames[name] { return known }
        return program(of: index).flatMap { ofPrograms[$0] }.flatMap(Self.median) ?? Self.unknown
    }

    private static func median(_ durations: [Int64]) -> Int64? {
        guard !durations.isEmpty else { return nil }
        let sorted = durations.sorted()
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
}

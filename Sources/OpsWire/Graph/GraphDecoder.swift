/// Reads the operations of a submission from JSON into flat arrays, in parts and in limited steps.
///
/// All problems are collected; if there are any, `finish` refuses the whole submission.
public struct GraphDecoder: Sendable {
    /// True if nothing more can be read, because the JSON is malformed or a limit was reached.
    var isBroken = false
    var problems: [GraphProblem] = []
    var input = GraphInput()
    var defaults = OperationDefaults()
    /// Operation with each name, by the name's index in `input.names`; -1 for texts that are only references.
    var operationOfName: [Int32] = []
    var hasKeys: Set<String> = []
    /// Operations that get the dependencies of the defaults.
    var withDefaultEdges: [Int32] = []
    /// Operation for whose condition each provided operation is, by the index of the latter; only if the defaults have
    /// dependencies.
    var providers: [Int32: Int32] = [:]
    var cache = DecoderCache()

    /// Defaults that have not been read.
    private var waitingDefaults: [UInt8]?
    /// Parts that have not been read completely.
    private var waiting: [[UInt8]] = []
    /// Bytes of the waiting defaults and parts.
    private(set) var waitingBytes = 0
    private var nextPart = 0
    private var state: JSONScanner.State?
    /// Groups whose children are being read; the innermost is the last.
    var openGroups: [OperationDraft] = []
    /// Number of provided operations that are being read, each inside the one before.
    var providedDepth = 0
    private var totalBytes = 0
    /// True if the operations are added to an existing graph, whose operations they may name.
    let joinsGraph: Bool
    /// Labels that every operation gets, over those of the submission.
    let fixedLabels: StringMap
    /// Instant of the submission, from which durations are counted.
    public let now: WallInstant

    /// - Parameters:
    ///   - defaults: A JSON object with keys of operations. The first step reads it.
    ///   - fixedLabels: Labels that every operation gets, over those of the submission.
    public init(
        defaults: [UInt8]? = nil, fixedLabels: StringMap = StringMap(), joinsGraph: Bool = false, now: WallInstant
    ) {
        self.now = now
        self.fixedLabels = fixedLabels
        self.joinsGraph = joinsGraph
        waitingDefaults = defaults
        waitingBytes = defaults?.count ?? 0
    }

    public var count: Int { input.operations.count }

    /// Adds a part: a JSON array of operations.
    public mutating func add(_ operations: [UInt8]) {
        totalBytes += operations.count
        guard totalBytes <= 2 * Limits.tableBytes else {
            stop("a submission has at most \(2 * Limits.tableBytes) bytes")
            return
        }
        if nextPart == waiting.count {
            waiting.removeAll()
            nextPart = 0
        }
        waiting.append(operations)
        waitingBytes += operations.count
    }

    /// Reads up to this many more operations, the defaults before the first; returns true if there is more to read.
    public mutating func step(maxOperations: Int = .max) -> Bool {
        if let defaults = waitingDefaults {
            waitingDefaults = nil
            waitingBytes -= defaults.count
            read(defaults: defaults)
        }
        var budget = maxOperations
        while !isBroken, nextPart < waiting.count, budget > 0 {
            let part = waiting[nextPart]
            let isDone = part.withUnsafeBufferPointer { bytes in
                var scanner = JSONScanner(bytes)
                // The reader of the file counts lines; counting here would take quadratic time for large parts.
                scanner.countsLines = false
                return read(&scanner, &budget)
            }
            guard isDone || isBroken else { continue }
            waitingBytes -= waiting[nextPart].count
            waiting[nextPart] = []
            nextPart += 1
            state = nil
        }
        return !isBroken && nextPart < waiting.count
    }

    /// Reads a part; returns false if the budget ends before the part does.
    private mutating func read(_ scanner: inout JSONScanner, _ budget: inout Int) -> Bool {
        do throws(JSONError) {
            if let state { scanner.state = state } else { try scanner.beginArray() }
            repeat {
                guard try read(downTo: 0, &scanner, &budget), budget > 0 else {
                    state = scanner.state
                    return false
                }
                guard try scanner.nextElement() else { break }
                budget -= 1
                try beginOperation(&scanner, parent: -1)
            } while !isBroken
            if !isBroken { try scanner.end() }
        } catch {
            report(GraphProblem(message: error.reason.text, offset: error.offset))
            isBroken = true
        }
        return true
    }

    // MARK: - Problems

    mutating func report(_ problem: GraphProblem) {
        problems.append(problem)
        if problems.count >= Limits.problems { isBroken = true }
    }

    /// Reports that a limit of the whole submission was reached, and stops reading.
    mutating func stop(_ message: String) {
        report(GraphProblem(message: message))
        isBroken = true
    }
}

/// Reads the operations of a submission from bytes, in parts and in slices, into flat arrays.
///
/// All problems are collected; a submission with any is refused as a whole by `finish`.
public struct GraphDecoder: Sendable {
    /// Nothing that follows can be read: the text is malformed, or a bound was reached.
    var isBroken = false
    var problems: [GraphProblem] = []
    var input = GraphInput()
    var defaults = OperationDefaults()
    /// The operation of each name, by the name's place in `input.names`; -1 for texts that are only referred to.
    var operationOfName: [Int32] = []
    var hasKeys: Set<String> = []
    var cache = DecoderCache()

    /// Parts that are not read to their ends.
    private var waiting: [[UInt8]] = []
    /// Bytes of these.
    private(set) var waitingBytes = 0
    private var nextPart = 0
    private var state: JSONScanner.State?
    /// Groups whose operations are being read, the innermost last.
    var openGroups: [OperationDraft] = []
    private var totalBytes = 0
    /// It becomes part of a graph that exists, whose operations it may name.
    let joinsGraph: Bool
    /// Wall-clock nanoseconds of the submission: durations to an instant count from it.
    public let now: Int64

    /// `defaults`: a JSON object with keys of operations.
    public init(defaults: [UInt8]? = nil, joinsGraph: Bool = false, now: Int64) {
        self.now = now
        self.joinsGraph = joinsGraph
        if let defaults { read(defaults: defaults) }
    }

    public var count: Int { input.operations.count }

    /// Adds a JSON array of operations.
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

    /// Reads up to so many more operations of what was added; whether there is more to read.
    public mutating func step(maxOperations: Int = .max) -> Bool {
        var budget = maxOperations
        while !isBroken, nextPart < waiting.count, budget > 0 {
            let part = waiting[nextPart]
            let isDone = part.withUnsafeBufferPointer { bytes in
                var scanner = JSONScanner(bytes)
                // Lines are counted by the reader of the file; counting here would be quadratic in large parts.
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

    /// True at the end of the part; false where the budget ended.
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

    /// A bound of the whole submission is reached.
    mutating func stop(_ message: String) {
        report(GraphProblem(message: message))
        isBroken = true
    }
}

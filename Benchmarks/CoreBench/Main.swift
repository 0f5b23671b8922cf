internal import OpsCore

/// Cost of the rules alone, without a disk or a process: `core-bench [largest]`. `core-bench makespan` compares the orders
/// of queues.
@main
struct CoreBench {
    static func main() {
        if CommandLine.arguments.dropFirst().first == "makespan" { return Makespan.compare() }
        let largest = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
        let sizes = [10_000, 100_000, 1_000_000].filter { $0 <= largest }
        print(left("", 34), right("operations", 12), right("ns each", 10), right("a second", 12), right("x bare", 8))
        for size in sizes { layers(size) }
        growth("one category", [1_000, 10_000, 100_000], inOneCategory)
        growth("one category, named unit", [1_000, 10_000, 100_000], settings: [named(1)], inOneCategory)
        growth("10,000 named units", [10_000, 100_000], workers: 20_000, settings: [named(10_000)], inOneCategory)
        growth("1,000 categories", [10_000, 100_000]) { inSome(of: 1_000, $0) }
        growth("1,000 categories with rates", [10_000, 100_000], settings: rates(1_000)) { inSome(of: 1_000, $0) }
        growth("pairs of 100 categories", [1_000, 10_000, 100_000]) { inPairs($0, of: 100) }
        growth("groups of ten, one category", [1_000, 10_000, 100_000]) { inGroups($0, categories: 1) }
        growth("groups of ten, 100 categories", [1_000, 10_000, 100_000]) { inGroups($0, categories: 100) }
        growth("groups of ten, by priority", [1_000, 10_000, 100_000]) { inGroups($0, categories: 1, priorities: 16) }
        growth("groups in an urgent chain", [1_000, 10_000, 100_000], urgentChain)
        growth("a group hurried by as many", [1_000, 10_000, 100_000], hurried)
        growth("groups in each other's way", [300, 1_000, 3_000], inEachOthersWay)
        growth("groups that share what is theirs", [300, 1_000, 3_000], sharingUnits)
        growth("two workers, layered", [10_000, 100_000, 1_000_000].filter { $0 <= largest }, workers: 2) {
            layered($0)
        }
        if let size = sizes.last { cancelAll(size) }
        if let size = sizes.last { refuseCycle(size) }
        if let size = sizes.last { questions(size) }
    }

    static func show(_ row: Measurement, bare: Measurement? = nil, note: String = "") {
        let ratio = bare.map { tenths(row.each / $0.each) } ?? ""
        print(
            left(row.name, 34), right(grouped(Double(row.count)), 12), right(tenths(row.each), 10),
            right(grouped(row.perSecond), 12), right(ratio, 8), note)
    }

    /// A layered graph with three edges an operation, submitted and drained.
    static func layers(_ count: Int) {
        var graph = BareGraph(layered(count))
        let bare = measure("bare topological drain", count) {
            precondition(graph.drain() == count, "the bare drain takes every node")
        }
        show(bare)
        let before = bytesInUse()
        var driven = Driven(workers: 64)
        var submission = layered(count)
        let submitted = measure("submit, layered", count) {
            precondition(driven.handle(.submit(submission)), "a layered graph has no cycle")
        }
        submission = Submission()
        let started = measure("first turn, layered", 1) { driven.endTurn() }
        let bytes = Double(bytesInUse() - before) / Double(count)
        show(submitted, bare: bare)
        show(started)
        let drained = measure("drain, layered", count) {
            precondition(driven.drain() == count, "every operation starts and ends once")
        }
        show(drained, bare: bare)
        print(left("  memory after the submission", 34), right(tenths(bytes), 12), "bytes each, edges included")
    }

    /// The same at growing sizes: what one start costs must not grow with how many wait.
    static func growth(
        _ name: String, _ counts: [Int], workers: Int32 = 64, settings: [Event] = [], _ shape: (Int) -> Submission
    ) {
        var first: Measurement?
        for count in counts {
            let submission = shape(count)
            let processes = submission.operations.count { !$0.flags.contains(.group) }
            var driven = Driven(workers: workers)
            for setting in [.setCategory("wide", capacity: 100_000)] + settings {
                precondition(driven.handle(setting), "the category can be set so")
            }
            let submitted = measure("submit, \(name)", count) {
                precondition(driven.handle(.submit(submission)), "nothing is wrong with it")
            }
            show(submitted)
            let drained = measure("drain, \(name)", count) {
                driven.endTurn()
                precondition(driven.drain() == processes, "every process starts and ends once")
            }
            show(drained, note: first.map { "\(tenths(drained.each / $0.each)) times the smallest" } ?? "")
            if first == nil { first = drained }
        }
    }

    static func cancelAll(_ count: Int) {
        var driven = Driven(workers: 0)
        precondition(driven.handle(.submit(layered(count))), "a layered graph has no cycle")
        driven.endTurn()
        let all = (1...count).map { OperationID(Int64($0)) }
        show(
            measure("cancel in one call", count) {
                precondition(
                    driven.handle(.cancel(all, by: "bench", reason: nil, force: false)), "all can be cancelled")
                driven.endTurn()
            })
    }

    static func refuseCycle(_ count: Int) {
        var driven = Driven(workers: 0)
        let submission = layered(count, isCyclic: true)
        show(measure("refusal of a cycle", count) { _ = driven.handle(.submit(submission)) })
    }
}

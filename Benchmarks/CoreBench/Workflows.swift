internal import OpsCore

/// Workflows of the shapes of WfCommons, with durations of their kinds of tasks; made from a seed.
struct Workflow {
    static let shapes: [(name: String, build: @Sendable (inout Workflow, Int) -> Void)] = [
        ("Montage", montage), ("Epigenomics", epigenomics), ("Seismology", seismology), ("BLAST", blast), ("BWA", bwa),
        ("1000Genome", genome), ("Cycles", cycles), ("SoyKB", soykb), ("SRA search", sraSearch),
    ]

    private(set) var submission = Submission()
    /// Seconds that each task takes, in milliseconds, and the median of its kind, which opsd would estimate.
    private(set) var durations: [Int64] = []
    private(set) var estimates: [Int64] = []
    private var state: UInt64

    init(shape: Int, seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(shape)
        Self.shapes[shape].build(&self, 4 + Int(next() % 40))
    }

    private mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state ^ state >> 33) >> 11
    }

    /// Adds a task of a kind that usually takes `seconds`: between a half and one and a half of them, seldom three times.
    private mutating func add(_ seconds: Double, after: [Int32] = []) -> Int32 {
        let place = Int32(submission.operations.count)
        submission.operations.append(Draft())
        for on in after { submission.edges.append(DraftEdge(from: place, on: .local(on))) }
        let factor = next() % 20 == 0 ? 3 : 0.5 + Double(next() % 1000) / 1000
        durations.append(Int64(seconds * factor * 1000))
        estimates.append(Int64(seconds * 1000))
        return place
    }

    private mutating func fan(_ count: Int, _ seconds: Double, after: [Int32] = []) -> [Int32] {
        (0..<count).map { _ in add(seconds, after: after) }
    }

    private static func montage(_ flow: inout Workflow, _ width: Int) {
        let projected = flow.fan(width, 12)
        let differences = (0..<(width * 2)).map {
            flow.add(10, after: [projected[$0 % width], projected[($0 * 7 + 1) % width]])
        }
        let model = flow.add(20, after: [flow.add(15, after: differences)])
        let corrected = projected.map { flow.add(10, after: [model, $0]) }
        let merged = flow.add(40, after: [flow.add(8, after: corrected)])
        _ = flow.add(5, after: [flow.add(20, after: [merged])])
    }

    private static func epigenomics(_ flow: inout Workflow, _ width: Int) {
        var lanes: [Int32] = []
        for _ in 0..<(2 + width / 12) {
            let split = flow.add(30)
            let mapped = (0..<width).map { _ in
                let filtered = flow.add(5, after: [split])
                return flow.add(200, after: [flow.add(4, after: [flow.add(3, after: [filtered])])])
            }
            lanes.append(flow.add(25, after: mapped))
        }
        _ = flow.add(40, after: [flow.add(15, after: [flow.add(50, after: lanes)])])
    }

    private static func seismology(_ flow: inout Workflow, _ width: Int) {
        _ = flow.add(30, after: flow.fan(width * 4, 12))
    }

    private static func blast(_ flow: inout Workflow, _ width: Int) {
        let searched = flow.fan(width * 2, 300, after: [flow.add(4)])
        _ = [flow.add(6, after: searched), flow.add(3, after: searched)]
    }

    private static func bwa(_ flow: inout Workflow, _ width: Int) {
        let (reduced, index) = (flow.add(20), flow.add(60))
        let aligned = flow.fan(width * 3, 25, after: [reduced, index])
        _ = flow.add(5, after: [flow.add(15, after: aligned)])
    }

    private static func genome(_ flow: inout Workflow, _ width: Int) {
        for _ in 0..<(1 + width / 10) {
            let merged = flow.add(60, after: flow.fan(10, 120))
            let sifted = flow.add(30)
            for _ in 0..<7 {
                _ = [flow.add(90, after: [merged, sifted]), flow.add(200, after: [merged, sifted])]
            }
        }
    }

    private static func cycles(_ flow: inout Workflow, _ width: Int) {
        var outputs: [Int32] = []
        for _ in 0..<width {
            let baseline = flow.add(40)
            let parsed = flow.fan(4, 30, after: [baseline]).map { flow.add(20, after: [flow.add(15, after: [$0])]) }
            outputs.append(flow.add(10, after: parsed))
        }
        _ = flow.add(25, after: outputs)
    }

    private static func soykb(_ flow: inout Workflow, _ width: Int) {
        let samples = (0..<width).map { _ in
            var last = flow.add(100)
            for seconds in [15.0, 20, 10, 60, 80] { last = flow.add(seconds, after: [last]) }
            return flow.add(150, after: [last])
        }
        let combined = flow.add(60, after: samples)
        let genotyped = flow.fan(20, 70, after: samples)
        _ = flow.add(30, after: [flow.add(40, after: genotyped), combined])
    }

    private static func sraSearch(_ flow: inout Workflow, _ width: Int) {
        let index = flow.add(90)
        let found = (0..<width).map { _ in flow.add(60, after: [index, flow.add(35)]) }
        _ = flow.add(
            10,
            after: stride(from: 0, to: found.count, by: 8).map {
                flow.add(12, after: Array(found[$0..<min($0 + 8, found.count)]))
            })
    }
}

import Testing

@testable import OpsDrawing

@Suite struct TimelineTests {
    private static let second: Int64 = 1_000_000_000

    private func ran(_ id: Int, _ ready: Int64, _ start: Int64, _ end: Int64?) -> DrawnOperation {
        DrawnOperation(
            id: id, title: "op\(id)", status: .succeeded, readyAt: ready * Self.second, startedAt: start * Self.second,
            finishedAt: end.map { $0 * Self.second })
    }

    @Test func `operations that ran at the same time stand in different rows`() {
        let chart = Timeline(
            title: "t", [ran(1, 0, 0, 4), ran(2, 0, 1, 2), ran(3, 0, 2, 5)], rows: .workers, now: 0)
        #expect(chart.bars.map(\.row) == [0, 1, 1])
    }

    @Test func `a chart by operation begins when the first became ready`() {
        let chart = Timeline(title: "t", [ran(1, 1, 3, 4)], rows: .operations, now: 0)
        #expect(chart.scale.start == Self.second && chart.scale.end == 4 * Self.second)
    }

    @Test func `an operation that runs is drawn until now`() {
        let chart = Timeline(title: "t", [ran(1, 0, 0, nil)], rows: .workers, now: 7 * Self.second)
        #expect(chart.scale.end == 7 * Self.second)
    }

    @Test(
        arguments: [
            (4, "500ms"), (61, "10s"), (3600, "10m"), (86_400, "3h"), (86_400 * 30, "7d"),
        ] as [(Int64, String)])
    func `ticks are round`(_ seconds: Int64, _ step: String) {
        #expect(DurationLabel.short(TimeScale(from: 0, to: seconds * Self.second).step) == step)
    }

    @Test func `a span of ten thousand years has few ticks`() {
        #expect(TimeScale(from: .min / 2, to: .max / 2 - 1).ticks.count < 12)
    }

    @Test func `a flag takes two cells`() {
        #expect(DisplayWidth.of("\u{1f1e9}\u{1f1ea}") == 2)
        #expect(DisplayWidth.of("\u{1f1e9}\u{1f1ea}\u{1f1eb}\u{1f1f7}") == 4)
        #expect(DisplayWidth.of("\u{1f1e9}") == 1)
    }

    @Test func `lines for the terminal are as wide as it is`() {
        let chart = Timeline(title: "t", [ran(1, 0, 2, 4), ran(2, 0, 4, 9)], rows: .operations, now: 0)
        let lines = chart.lines(columns: 60) { _ in "12:00:00" }
        #expect(lines.count == 5)
        for line in lines {
            #expect(DisplayWidth.of(line.name + line.parts.map(\.text).joined() + line.tail) <= 60)
        }
        #expect(lines[0].parts.contains { $0.tone == .succeeded })
    }
}

import Foundation
import Testing

@testable import calendar_probe

/// A sample of the questions of `make calendar-oracles`, with answers on which other programs agree: Python's zoneinfo,
/// systemd-analyze, croniter, and a walk in Python. The complete comparison takes minutes.
@Suite struct OracleSampleTests {
    @Test func `answers are those that other programs gave`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "Fixtures/oracles")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.count > 200)
        var probe = Probe()
        for line in lines {
            let sides = line.components(separatedBy: " = ")
            try #require(sides.count == 2)
            let answer: String
            do { answer = try probe.answer(sides[0].components(separatedBy: "|")) } catch { answer = "! \(error)" }
            #expect(answer == sides[1], "\(sides[0])")
        }
    }
}

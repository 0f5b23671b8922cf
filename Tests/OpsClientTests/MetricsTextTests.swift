import OpsWire
import Testing

@testable import OpsClient

@Suite struct MetricsTextTests {
    @Test func `executors beyond the first sixteen are added up`() {
        let executors = (1...20).map { number in
            ExecutorRow.with {
                $0.name = "e\(number)"
                $0.state = number == 20 ? .disconnected : .connected
                $0.window = 2
                $0.inFlight = 1
            }
        }
        let status = StatusReply.with { $0.counts.executing = 23 }
        let text = MetricsText(status, MetricsReply(), executors, now: .zero).text
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.count { $0.hasPrefix("opsd_executor_") } == 3 * 18)
        #expect(lines.contains("opsd_executor_in_flight{executor=\"local\"} 3"))
        #expect(lines.contains("opsd_executor_in_flight{executor=\"e16\"} 1"))
        #expect(lines.contains("opsd_executor_in_flight{executor=\"(others)\"} 4"))
        #expect(lines.contains("opsd_executor_window{executor=\"(others)\"} 8"))
        #expect(lines.contains("opsd_executor_connected{executor=\"(others)\"} 0"))
    }

    @Test func `categories without a capacity add nothing to the sum of the others`() {
        let categories = (1...63).map { number in
            CategoryMetricsRow.with {
                $0.name = "c\(number)"
                $0.capacity = number == 62 ? 5 : nil
            }
        }
        let text = MetricsText(StatusReply(), MetricsReply.with { $0.categories = categories }, [], now: .zero).text
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("opsd_category_capacity{") }.map(String.init)
        #expect(lines == ["opsd_category_capacity{category=\"(others)\"} 5"])
    }
}

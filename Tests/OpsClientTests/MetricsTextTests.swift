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
        // Groups execute too, without a slot.
        let status = StatusReply.with {
            $0.counts.executing = 25
            $0.slotsUsed = 3
        }
        let text = MetricsText(status, MetricsReply(), executors, now: .zero).text
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.count { $0.hasPrefix("opsd_executor_") } == 3 * 18)
        #expect(lines.contains("opsd_executor_in_flight{executor=\"local\"} 3"))
        #expect(lines.contains("opsd_executor_in_flight{executor=\"e16\"} 1"))
        #expect(lines.contains("opsd_executor_in_flight{executor=\"(others)\"} 4"))
        #expect(lines.contains("opsd_executor_window{executor=\"(others)\"} 8"))
        #expect(lines.contains("opsd_executor_connected{executor=\"(others)\"} 0"))
    }

    @Test func `the largest reply of a daemon makes at most 1000 series`() {
        let times = HistogramRow.with {
            $0.bounds = [0.1, 1, 10, 60, 600, 3600, 21_600, 86_400]
            $0.counts = Array(repeating: 1, count: 9)
        }
        let metrics = MetricsReply.with { reply in
            reply.queues = (1...40).map { number in
                QueueMetricsRow.with {
                    $0.name = "q\(number)"
                    $0.limit = 1
                    $0.waiting = times
                    $0.running = times
                }
            }
            reply.categories = (1...130).map { number in
                CategoryMetricsRow.with {
                    $0.name = "c\(number)"
                    $0.capacity = 1
                }
            }
            // As many as the daemon sends.
            reply.schedules = (1...70).map { number in
                ScheduleMetricsRow.with {
                    $0.name = "s\(number)"
                    $0.lastSuccess = "2026-01-01T00:00:00.000Z"
                }
            }
            (reply.commits, reply.turns) = (times, times)
        }
        let status = StatusReply.with { $0.startedAt = "2026-01-01T00:00:00.000Z" }
        let executors = (1...20).map { number in ExecutorRow.with { $0.name = "e\(number)" } }
        let text = MetricsText(status, metrics, executors, now: .zero).text
        let count = text.split(separator: "\n").count { !$0.hasPrefix("#") }
        #expect(count > 950 && count <= 1000)
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

import OpsCore
import OpsWire
import Testing

@testable import OpsDaemon

/// Requests about queues and categories.
@Suite struct QueueRequestTests {
    @Test func `a number that is too large is refused with the largest one`() throws {
        let client = try Fixture().connect()
        let capacity = SetCategoryRequest.with {
            $0.name = "x"
            $0.capacity = 99_999_999_999
        }
        let limit = SetQueueRequest.with {
            $0.name = "x"
            $0.limit = 99_999_999_999
        }
        for (failure, key, range) in [
            (try client.refusal(capacity), "capacity", "from 0 to 2147483646, "),
            (try client.refusal(limit), "limit", "from 0 to 2147483647, or -1 for none, "),
        ] {
            guard case .control(.invalidOperation(let problems)) = failure else {
                Issue.record("\(key) is not refused")
                continue
            }
            #expect(problems.map(\.key) == [key])
            #expect(problems.first?.message == "must be a number \(range)not 99999999999")
        }
    }

    @Test func `a transfer runs on the executor of its queue if that runs transfers`() throws {
        let kinds: KeyValuePairs<String, ExecutorConfiguration.Kind> = [
            "images": .transfer, "big": .transfer, "cluster": .slurm,
        ]
        let executors = kinds.map { name, kind in
            var executor = ExecutorConfiguration(name: name)
            executor.kind = kind
            return executor
        }
        let client = try Fixture(executors: executors).connect()
        for (queue, executor) in [("large", "big"), ("jobs", "cluster"), ("plain", "none")] {
            _ = try client.call(SetQueueRequest.with { ($0.name, $0.executor) = (queue, executor) })
        }
        let http = #""http":{"url":"http://127.0.0.1/","to":"/nowhere/file"},"held":true"#
        for (keys, executor) in [
            (#""queue":"large""#, "big"), (#""queue":"large","executor":"images""#, "images"),
            (#""queue":"jobs""#, "images"), (#""queue":"plain""#, "images"),
        ] {
            let id = try client.submit("[{\(http),\(keys)}]").first
            let details = try client.call(ShowRequest.with { $0.ref = "\(id)" }).details
            #expect(details.executor == executor, "\(keys)")
        }
    }

    @Test func `a refusal of too many things names their number`() throws {
        let fixture = try Fixture()
        let refusal = fixture.daemon.turns.translate(.tooMany(what: "categories with a rate", limit: 9))
        #expect(refusal == .tooLarge(what: "the number of categories with a rate", limit: 9))
    }

    @Test(arguments: [
        (1, "1 unfinished operation; cancel or move it first"),
        (2, "2 unfinished operations; cancel or move them first"),
    ])
    func `a queue that is not empty is not removed`(count: Int, text: String) throws {
        let client = try Fixture().connect()
        _ = try client.call(SetQueueRequest.with { $0.name = "q" })
        for _ in 0..<count { _ = try client.submit(#"[{"command":["true"],"queue":"q","held":true}]"#) }
        let failure = try client.refusal(RemoveQueueRequest.with { $0.name = "q" })
        #expect(failure == .control(.wrongState(id: nil, message: "queue q has \(text)")))
    }
}

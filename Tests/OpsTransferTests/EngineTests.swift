import Foundation
import OpsSystem
import TestSupport
import Testing

@testable import OpsTransfer

@Suite struct EngineTests {
    /// Starts a download of each scenario, waits until all have ended and returns their results.
    private func run(
        _ scenarios: [String], _ options: Engine.Options, in folder: String
    ) throws -> [Int: Result<Int64, Failure>] {
        let server = try LyingServer.plain.get()
        let engine = try Engine(options)
        var results: [Int: Result<Int64, Failure>] = [:]
        var downloads: [Download] = []
        for (index, scenario) in scenarios.enumerated() {
            let address = try WebAddress("http://127.0.0.1:\(server.port)/\(scenario)/\(UUID().uuidString)")
            let request = DownloadRequest(address: address, target: "\(folder)/\(index)")
            let download = try Download(request, on: engine) { event in
                if case .ended(let result) = event { results[index] = result }
            }
            downloads.append(download)
            download.start()
        }
        while results.count < scenarios.count {
            try engine.wait(milliseconds: 1000)
            try engine.step()
        }
        #expect(engine.count == 0)
        return results
    }

    @Test func `a failed download does not affect others of the same engine`() throws {
        let folder = try Scratch.folder()
        let scenarios = (0..<100).map { $0 % 10 == 9 ? "truncates" : "file" }
        var options = Engine.Options()
        options.receiveBuffer = 8192
        let results = try run(scenarios, options, in: folder)
        let body = serverContent(size: 100_000)
        for (index, scenario) in scenarios.enumerated() {
            let file = FileManager.default.contents(atPath: "\(folder)/\(index)")
            #expect(results[index]?.kind == (scenario == "file" ? nil : .retryable))
            #expect(file == (scenario == "file" ? body : nil))
        }
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func `files are complete with the smaller buffers of many simultaneous transfers`() throws {
        let folder = try Scratch.folder()
        let count = Engine.manyExchanges + 16
        let results = try run(Array(repeating: "file", count: count), Engine.Options(), in: folder)
        #expect(results.values.allSatisfy { $0.size == 100_000 })
        let body = serverContent(size: 100_000)
        for index in 0..<count { #expect(FileManager.default.contents(atPath: "\(folder)/\(index)") == body) }
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func `a rate limit prevents a burst of megabytes`() throws {
        let fetch = try Fetch()
        let engine = try Engine(.init())
        var request = DownloadRequest(
            address: try WebAddress(fetch.address("file", "size=3000000")), target: fetch.target)
        request.rateLimit = 1000
        let download = try Download(request, on: engine) { _ in }
        download.start()
        var steps = 0
        while steps < 20 {
            try engine.wait(milliseconds: 50)
            try engine.step()
            if download.progress.done > 0 { steps += 1 }
        }
        #expect(download.progress.done < 500_000)
        download.cancel(keeping: false)
    }

    @Test func `a download with a rate limit goes on without any other event`() throws {
        let fetch = try Fetch()
        let engine = try Engine(.init())
        var request = DownloadRequest(
            address: try WebAddress(fetch.address("file", "size=300000")), target: fetch.target)
        request.rateLimit = 300_000
        var size: Int64?
        let download = try Download(request, on: engine) { event in
            if case .ended(.success(let count)) = event { size = count }
        }
        download.start()
        while size == nil {
            let start = Clock.read().monotonic
            try engine.wait(milliseconds: 30_000)
            try #require(Clock.read().monotonic - start < .seconds(20), "nothing wakes the engine")
            try engine.step()
        }
        #expect(size == 300_000)
    }

    @Test func `downloads beyond the limit of connections wait for one`() throws {
        let folder = try Scratch.folder()
        var options = Engine.Options()
        options.connectionsPerHost = 2
        options.connections = 3
        let results = try run(Array(repeating: "file", count: 20), options, in: folder)
        #expect(results.values.allSatisfy { $0.size == 100_000 })
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func `a cancelled download reports nothing and can be continued`() throws {
        let fetch = try Fetch()
        let engine = try Engine(.init())
        var events = 0
        let address = try WebAddress(fetch.address("stalls"))
        let download = try Download(DownloadRequest(address: address, target: fetch.target), on: engine) { _ in
            events += 1
        }
        download.start()
        while download.progress.done < 1000 {
            try engine.wait(milliseconds: 1000)
            try engine.step()
        }
        download.cancel()
        try engine.finishFileWork(within: .seconds(60))
        #expect(events == 0 && engine.count == 0)
        #expect(try fetch.names == [".file.part", ".file.part.state"])
    }

    @Test func `releasing an engine and its downloads unlocks their partial files`() throws {
        let fetch = try Fetch()
        do {
            let engine = try Engine(.init())
            let address = try WebAddress(fetch.address("stalls"))
            let download = try Download(DownloadRequest(address: address, target: fetch.target), on: engine) { _ in }
            download.start()
            try engine.wait(milliseconds: 1000)
            try engine.step()
            download.cancel()
            try engine.finishFileWork(within: .seconds(60))
        }
        #expect(throws: Never.self) { try PartialFile(target: fetch.target) }
    }
}

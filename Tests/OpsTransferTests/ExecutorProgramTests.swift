import Foundation
import OpsExecutor
import OpsSystem
import TestSupport
import Testing

@testable import OpsTransfer

/// Tests of opsd-transfer as a process. The test sends commands and reads reports as opsd does.
@Suite struct ExecutorProgramTests {
    private func attempt(_ operation: Int64) -> AttemptID { AttemptID(OperationID(operation), 1) }

    @Test func `a finished transfer is reported to each new connection until it is acknowledged`() throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        #expect(try executor.connect().entries == [])
        try executor.launch(7, fetch.address("file"), to: fetch.target)
        let (exits, reports) = try executor.ends(of: 7)
        #expect(exits == [7: .code(0)])
        guard case .launched(attempt(7), let process) = reports[0] else { throw SetUpError(description: "\(reports)") }
        #expect(process.pid == 0)
        #expect(reports.contains(.updated(attempt(7), OperationUpdate(progressDone: 100_000, progressTotal: 100_000))))
        #expect(fetch.file == serverContent(size: 100_000))

        let entries = try executor.connect().entries
        guard case .gone(let exit)? = entries.first?.state else { throw SetUpError(description: "\(entries)") }
        #expect(exit.status == .code(0) && entries.count == 1)
        #expect(executor.repeated == [attempt(7): OperationUpdate(progressDone: 100_000, progressTotal: 100_000)])
        // A second launch of the attempt reports the end again and downloads nothing.
        try executor.launch(7, fetch.address("file"), to: fetch.target)
        #expect(try executor.ends(of: 7).exits == [7: .code(0)])
        #expect(try fetch.ranges == [nil])

        try executor.send(.acknowledge(attempt(7)))
        #expect(try executor.connect().entries == [])
    }

    @Test(arguments: [
        ("truncates", "", 75), ("status", "status=500", 75), ("resets-once", "", 75), ("stalls-before-close", "", 75),
        ("status", "status=404", 69), ("circle", "", 69), ("leads-to-file", "", 69), ("gzip", "", 65),
        ("unasked-part", "", 65), ("two-lengths", "", 65), ("old", "", 65),
    ])
    func `a failed transfer has the exit status of opsd-fetch`(scenario: String, query: String, status: Int32) throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        let log = fetch.folder + "/log"
        let scenario = scenario == "stalls-before-close" ? "chunked-without-end" : scenario
        try executor.launch(1, fetch.address(scenario, query), to: fetch.target) { $0.output = .log(log) }
        let (exits, reports) = try executor.ends(of: 1)
        #expect(exits == [1: .code(status)])
        #expect(fetch.file == nil)
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 1 && lines[0].hasPrefix("opsd-transfer: "))
        // The line of the log is also the status text of the operation.
        let said = reports.compactMap { if case .updated(_, let update) = $0 { update.status } else { nil } }
        #expect(said.last.map { "opsd-transfer: \($0)" } == lines.first.map(String.init))
    }

    @Test(arguments: [
        "", "7", "{}", #"{"url": "http://127.0.0.1/"}"#, #"{"url": "ftp://host/", "to": "f"}"#,
        #"{"url": "http://127.0.0.1/", "to": "f", "sha256": "12"}"#,
        #"{"url": "http://127.0.0.1/", "to": "f", "headersFile": "/nowhere"}"#,
        #"{"url": "http://127.0.0.1/", "to": "/nowhere/f"}"#, #"{"url": "http://127.0.0.1/", "to": "/"}"#,
    ])
    func `an invalid request ends with 64`(options: String) throws {
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, "", to: "") { $0.executorOptions = options }
        #expect(try executor.ends(of: 1).exits == [1: .code(64)])
    }

    @Test func `relative paths are resolved against the operation's directory`() throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try Data("X-Key: secret\n".utf8).write(to: URL(fileURLWithPath: fetch.folder + "/headers"))
        chmod(fetch.folder + "/headers", 0o600)
        let sum = SHA256.digest(of: Array(serverContent(size: 100_000)))
        try executor.launch(1, "", to: "") {
            $0.directory = fetch.folder
            $0.umask = 0o027
            $0.executorOptions = """
                {"url": "\(fetch.address("file"))", "to": "file", "headersFile": "headers", "sha256": "\(sum)"}
                """
        }
        #expect(try executor.ends(of: 1).exits == [1: .code(0)])
        #expect(fetch.file == serverContent(size: 100_000))
        #expect(try fetch.server.requests(fetch.id).map { $0["x-key"] } == ["secret"])
        let mode = try FileManager.default.attributesOfItem(atPath: fetch.target)[.posixPermissions] as? Int
        #expect(mode == 0o640)
    }

    @Test func `output files of the user get the permissions that the umask of the operation allows`() throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        let paths = ["stdout", "stderr"].map { "\(fetch.folder)/\($0)" }
        try executor.launch(1, fetch.address("file"), to: fetch.target) {
            $0.umask = 0o002
            $0.output = .paths(stdout: paths[0], stderr: paths[1])
        }
        #expect(try executor.ends(of: 1).exits == [1: .code(0)])
        for path in paths + [fetch.target] {
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o664, "\(path)")
        }
    }

    @Test func `a terminated attempt keeps its partial file for the next attempt`() throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("stalls"), to: fetch.target)
        try executor.progress(of: 1, atLeast: 1000)
        try executor.send(.terminate(attempt(1), grace: .zero))
        #expect(try executor.ends(of: 1).exits == [1: .signal(15)])
        #expect(try fetch.names == [".file.part", ".file.part.state"])
    }

    @Test func `cancelling an operation removes its partial file, even during the wait for a busy server`() throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("stalls"), to: fetch.target)
        try executor.progress(of: 1, atLeast: 1000)
        try executor.send(.terminate(attempt(1), grace: .zero, isCancelled: true))
        #expect(try executor.ends(of: 1).exits == [1: .signal(15)])
        #expect(try fetch.names == [])

        // One attempt breaks off and leaves a partial file. The next attempt would continue it, but waits for the server.
        let other = try Fetch()
        try executor.launch(2, other.address("truncates-once", "size=3000000"), to: other.target)
        #expect(try executor.ends(of: 2).exits == [2: .code(75)])
        #expect(try other.names == [".file.part", ".file.part.state"])
        try executor.launch(3, other.address("busy", "retry=3600&times=9"), to: other.target)
        while true {
            if case .updated(attempt(3), let update) = try executor.next(), update.status != nil { break }
        }
        try executor.send(.terminate(attempt(3), grace: .zero, isCancelled: true))
        #expect(try executor.ends(of: 3).exits == [3: .signal(15)])
        #expect(try other.names == [])
    }

    @Test func `cancelling an operation removes what an earlier attempt left, however early the cancel comes`() throws {
        let executor = try RunningExecutor()
        try executor.connect()
        for round in 0..<20 as Range<Int64> {
            let fetch = try Fetch()
            try executor.launch(2 * round, fetch.address("truncates", "size=3000000"), to: fetch.target)
            #expect(try executor.ends(of: 2 * round).exits == [2 * round: .code(75)])
            #expect(try fetch.names == [".file.part", ".file.part.state"])
            try executor.launch(2 * round + 1, fetch.address("stalls"), to: fetch.target)
            try executor.send(.terminate(attempt(2 * round + 1), grace: .zero, isCancelled: true))
            #expect(try executor.ends(of: 2 * round + 1).exits == [2 * round + 1: .signal(15)])
            #expect(try fetch.names == [])
        }
    }

    @Test func `cancelling an operation removes what its attempt kept when it failed just before`() throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("truncates", "size=3000000"), to: fetch.target)
        #expect(try executor.ends(of: 1).exits == [1: .code(75)])
        #expect(try fetch.names == [".file.part", ".file.part.state"])
        try executor.send(.terminate(attempt(1), grace: .zero, isCancelled: true))
        try executor.send(.acknowledge(attempt(1)))
        let end = ContinuousClock.now + .seconds(60)
        while try !fetch.names.isEmpty, ContinuousClock.now < end { usleep(10_000) }
        #expect(try fetch.names == [])
    }

    @Test func `an unknown attempt can be cancelled`() throws {
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.send(.terminate(attempt(3), grace: .zero))
        guard case .ended(attempt(3), let end) = try executor.next() else {
            throw SetUpError(description: "no end of the attempt")
        }
        #expect(end.outcome == .cancelled)
    }

    @Test(arguments: ["", "cut"]) func `a frozen transfer stops and continues after the thaw`(query: String) throws {
        let fetch = try Fetch()
        let other = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("waits", "size=3000000&\(query)=1"), to: fetch.target)
        try executor.progress(of: 1, atLeast: 1)
        try executor.send(.freeze(attempt(1)))
        try fetch.letServerContinue()
        // Other transfers continue meanwhile.
        try executor.launch(2, other.address("file"), to: other.target)
        let reports = try executor.ends(of: 2).reports
        #expect(!reports.contains { if case .exited(attempt(1), _, _) = $0 { true } else { false } })
        #expect(fetch.file == nil)
        try executor.send(.thaw(attempt(1)))
        #expect(try executor.ends(of: 1).exits == [1: .code(0)])
        #expect(fetch.file == serverContent(size: 3_000_000))
        #expect(try fetch.ranges.count == (query == "cut" ? 2 : 1))
    }

    @Test(arguments: [503, 429]) func `a transfer repeats its request after Retry-After`(status: Int) throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("busy", "retry=1&times=2&status=\(status)"), to: fetch.target)
        let (exits, reports) = try executor.ends(of: 1)
        #expect(exits == [1: .code(0)])
        let texts: [String] = reports.compactMap {
            if case .updated(_, let update) = $0 { update.status } else { nil }
        }
        // The status is empty as soon as a pause is over.
        #expect(texts.map { $0.hasSuffix("retry after 1 s") } == [true, false, true, false], "\(texts)")
        #expect(texts.last == "")
        #expect(fetch.file == serverContent(size: 100_000))
        #expect(try fetch.ranges.count == 3)
    }

    @Test(arguments: [(asked: 7, wait: 7), (asked: 0, wait: 1), (asked: 999_999, wait: 86_400)])
    func `Retry-After is passed to opsd if the operation retries failures`(asked: Int, wait: Int64) throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("busy", "retry=\(asked)"), to: fetch.target) { $0.retriesFailure = true }
        let reports = try executor.ends(of: 1).reports
        guard case .exited(_, let exit, _)? = reports.last else { throw SetUpError(description: "\(reports)") }
        #expect(exit.status == .code(75) && exit.retryAfter == .seconds(wait))
        #expect(try fetch.ranges.count == 1)
    }

    @Test func `Retry-After of more than a day fails the attempt`() throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("busy", "retry=86401"), to: fetch.target)
        #expect(try executor.ends(of: 1).exits == [1: .code(75)])
    }

    @Test func `a transfer that waits for a busy server can be cancelled`() throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("busy", "retry=3600"), to: fetch.target)
        while true {
            if case .updated(attempt(1), let update) = try executor.next(), update.status != nil { break }
        }
        #expect(try fetch.names == [])
        try executor.send(.terminate(attempt(1), grace: .zero))
        #expect(try executor.ends(of: 1).exits == [1: .signal(15)])
    }

    @Test func `transfers resume after opsd-transfer was killed`() throws {
        let fetches = try (0..<4).map { _ in try Fetch() }
        let executor = try RunningExecutor()
        let launchAll = {
            for (index, fetch) in fetches.enumerated() {
                try executor.launch(Int64(index), fetch.address("waits", "size=3000000"), to: fetch.target)
            }
        }
        try executor.connect()
        try launchAll()
        var halves: Set<Int64> = []
        while halves.count < 4 {
            if case .updated(let attempt, let update) = try executor.next(), update.progressDone == 1_500_000 {
                halves.insert(attempt.operation.rawValue)
            }
        }
        executor.kill()
        try executor.start()
        #expect(try executor.connect().entries == [])
        try launchAll()
        #expect(try executor.ends(of: Array(0..<4)).exits.values.allSatisfy { $0 == .code(0) })
        for fetch in fetches {
            #expect(fetch.file == serverContent(size: 3_000_000))
            #expect(try fetch.ranges == [nil, "bytes=1499999-"])
        }
    }

    @Test(arguments: ["per-host", "perHost"])
    func `per-host in opsd.conf limits simultaneous transfers from one host`(key: String) throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor(config: "[executor other]\n\(key) = 9\n[executor images]\n\(key) = 2\n")
        try executor.connect()
        for index in 0..<12 {
            try executor.launch(Int64(index), fetch.address("crowd"), to: "\(fetch.folder)/\(index)")
        }
        #expect(try executor.ends(of: Array(0..<12)).exits.values.allSatisfy { $0 == .code(0) })
        let most = try String(contentsOfFile: "\(fetch.server.folder)/\(fetch.id).most", encoding: .utf8)
        #expect(most == "2")
    }

    @Test func `a transfer names the host whose connections it waits for until it has one`() throws {
        let (first, second) = (try Fetch(), try Fetch())
        let executor = try RunningExecutor(config: "[executor images]\nper-host = 1\n")
        try executor.connect()
        try executor.launch(1, first.address("waits", "size=3000000"), to: first.target)
        try executor.progress(of: 1, atLeast: 1)
        try executor.launch(2, second.address("file"), to: second.target)
        var texts: [String] = []
        while texts.isEmpty {
            if case .updated(attempt(2), let update) = try executor.next() {
                texts += [update.status].compactMap { $0 }
            }
        }
        #expect(texts == ["waits for a connection to 127.0.0.1"])
        try first.letServerContinue()
        let (exits, reports) = try executor.ends(of: 1, 2)
        #expect(exits == [1: .code(0), 2: .code(0)])
        texts = reports.compactMap { if case .updated(attempt(2), let update) = $0 { update.status } else { nil } }
        #expect(texts == [""])
    }

    @Test func `a second opsd-transfer for the same executor ends at once`() throws {
        let executor = try RunningExecutor()
        let end = try Program.run(
            Program.transfer, "--state", executor.state, environment: ["NOTIFY_SOCKET": "@nobody"])
        #expect(end.status == 1 && end.complaint.contains("another process serves executor transfer"))
        #expect(try executor.connect().entries == [])
    }

    @Test func `opsd-transfer ends at the stop command and keeps partial files`() throws {
        let fetch = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("stalls"), to: fetch.target)
        try executor.progress(of: 1, atLeast: 1000)
        try executor.send(.stop(grace: .zero))
        #expect(executor.exitStatus() == 0)
        #expect(try fetch.names == [".file.part", ".file.part.state"])
    }

    @Test func `an opsd with another protocol version gets an empty greeting`() throws {
        let executor = try RunningExecutor()
        let greeting = try executor.connect(version: 99)
        #expect(greeting.version == LaunchProtocol.version && greeting.entries == [])
        #expect(throws: SetUpError.self) { try executor.next() }
    }
}

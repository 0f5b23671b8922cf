import OpsExecutor
import OpsModel
import OpsSlurm
import Testing

/// Attempts that are submitted together: arrays, and jobs that several attempts share.
@Suite struct BatchTests {
    private static func attempts(_ operations: ClosedRange<Int64>, number: Int32 = 1) -> [AttemptID] {
        operations.map { AttemptID(OperationID($0), number) }
    }

    @Test func `a batch is read as it was written`() throws {
        let batches = [
            (Batch(Self.attempts(12...12)), "12.1"), (Batch(Self.attempts(12...19)), "12-19.1"),
            (Batch(Self.attempts(12...13) + Self.attempts(31...31, number: 2)), "12-13.1,31.2"),
            (Batch(Self.attempts(1...9), pack: 4, fence: 1), "1-9.1:p4:f1"),
            (Batch(Self.attempts(99_990...100_100)), "99990-100100.1"),
            // Users write comments, too, with ids that no operation has.
            (Batch(Self.attempts((.max)...(.max)) + Self.attempts(5...5)), "9223372036854775807.1,5.1"),
            (Batch(Self.attempts((.max - 1)...(.max))), "9223372036854775806-9223372036854775807.1"),
        ]
        for (batch, text) in batches {
            #expect(batch.text == text)
            #expect(Batch(text) == batch)
            #expect(JobComment("opsd:ab:\(text)")?.batch == batch)
        }
    }

    @Test(arguments: [
        "", "12", "12-.1", "12-11.1", "12-12.1", "12.1,", "12-19.1:p1", "12.1:f0", "12.1:f1:p2", "12.1:x2", "12.1,13.1",
        "1-9999999.1", "0-3.1", "-1.1", "12.0", "12-13.0", "1.1:p9223372036854775807", "1-2.1:p9223372036854775806",
        "1-100000.1:p100000", "1.1:p1001", "1.1:p0", "1.1:p-4",
    ])
    func `malformed text of a batch is refused`(text: String) { #expect(Batch(text) == nil) }

    @Test func `a text is refused if it is longer than that of any batch of opsd`() {
        let scattered = (1...1000).map { AttemptID(OperationID($0 * 1_000_000), 1) }
        let task = Batch(scattered, pack: 1000)
        #expect(Batch(task.text) == task, "the attempts of one task cannot be split")
        #expect(Batch(Batch(scattered, pack: 999).text) == nil)
        #expect(Batch(Batch(Array(scattered[..<100])).text) == nil)
        let array = Batch(Self.attempts(1...100_000), pack: 1000)
        #expect(Batch(array.text) == array)
        #expect(Batch.split(Self.attempts(1...100_001), pack: 1000, fence: 0, mostTasks: 1000).first == array)
    }

    @Test func `consecutive attempts share a task of the array`() {
        let batch = Batch(Self.attempts(1...9), pack: 4)
        #expect(batch.taskCount == 3)
        #expect(batch.attempts(ofTask: 2) == Self.attempts(9...9))
        #expect(batch.attempts(ofTask: 3).isEmpty)
        #expect(batch.job("4711", of: AttemptID(OperationID(6), 1)) == "4711_1")
        #expect(Batch(Self.attempts(1...4), pack: 4).job("4711", of: AttemptID(OperationID(3), 1)) == "4711")
    }

    @Test func `a batch is split at the maximum size of an array and at the maximum length of a comment`() {
        let split = Batch.split(Self.attempts(1...10), pack: 2, fence: 0, mostTasks: 3)
        #expect(split.map(\.attempts.count) == [6, 4])
        #expect(Batch.split(Self.attempts(1...4), pack: 1, fence: 0, mostTasks: 3).map(\.attempts.count) == [3, 1])
        let scattered = (1...500).map { AttemptID(OperationID($0 * 1_000_000), 1) }
        let parts = Batch.split(scattered, pack: 1, fence: 0, mostTasks: 1000)
        #expect(parts.flatMap(\.attempts) == scattered)
        #expect(parts.allSatisfy { $0.text.utf8.count <= 400 })
        #expect(parts.count < 50)
    }

    @Test func `the row of a task is found by its attempts`() throws {
        let header = "JOBID|UID|STATE|REASON|EXIT_CODE|NODELIST|START_TIME|COMMENT|\n"
        let text = """
            \(header)\
            7_0|1000|RUNNING|None|0|n1|1795495255|opsd:ab:12-15.1|
            7_3|1000|PENDING|JobHeldUser|0||N/A|opsd:ab:12-15.1|
            7_9|1000|PENDING|JobHeldUser|0||N/A|opsd:ab:12-15.1|
            8|1000|CANCELLED|JobHeldUser|0||N/A|opsd:ab:20-21.1|
            9|1000|PENDING|JobHeldUser|0||N/A|opsd:ab:30-32.1:p3|
            10_0|1000|PENDING|JobHeldUser|0||N/A|opsd:ab:40.1|

            """
        let listing = try #require(JobListing(text, instance: "ab"))
        let rows = listing.byAttempt
        #expect(rows[AttemptID(OperationID(12), 1)]?.map(\.job) == ["7_0"])
        #expect(rows[AttemptID(OperationID(15), 1)]?.map(\.job) == ["7_3"])
        #expect(rows[AttemptID(OperationID(13), 1)] == nil)
        // Slurm did not split the array before somebody cancelled it.
        #expect(rows[AttemptID(OperationID(21), 1)]?.map(\.job) == ["8_1"])
        #expect(rows[AttemptID(OperationID(31), 1)]?.map(\.isShared) == [true])
        #expect(rows[AttemptID(OperationID(40), 1)] == nil, "no array of opsd has one attempt")
        #expect(listing.showsArray(of: "7_1", with: AttemptID(OperationID(13), 1)))
        #expect(!listing.showsArray(of: "7_1", with: AttemptID(OperationID(20), 1)))
        #expect(!listing.showsArray(of: "9", with: AttemptID(OperationID(30), 1)))
    }

    @Test func `a row that a user makes up says nothing about the job of another user`() throws {
        let header = "JOBID|UID|STATE|REASON|EXIT_CODE|NODELIST|START_TIME|COMMENT|\n"
        func listing(_ user: UInt32, _ attempts: String) throws -> JobListing {
            let row = "9|\(user)|PENDING|JobHeldUser|0||N/A|opsd:ab:\(attempts)|\n"
            return try #require(JobListing(header + row, instance: "ab"))
        }
        var jobs = SharedJobs()
        jobs.note(try listing(7, "30-31.1:p2"), of: 7)
        jobs.note(try listing(8, "40-41.1:p2"), of: 8)
        jobs.note(try listing(7, "50-51.1:p2"), of: 8)
        jobs.note(try listing(7, "60.1"), of: 7)
        #expect(jobs.attempts(of: "9", user: 7) == Self.attempts(30...31))
        #expect(jobs.attempts(of: "9", user: 8) == Self.attempts(40...41))
        jobs.keep { $0.operation.rawValue == 41 }
        #expect(jobs.attempts(of: "9", user: 7).isEmpty)
        #expect(jobs.attempts(of: "9", user: 8) == Self.attempts(40...41))
    }

    @Test func `the time limit of an array's task covers all attempts of the task`() {
        var request = JobRequest()
        request.timeLimit = .seconds(60)
        request.pack = 4
        let comment = JobComment(instance: "i", batch: Batch(Self.attempts(1...9), pack: 4))
        let words = request.submission(comment, output: "/dev/null", script: ["/s"])
        #expect(words.contains("--array=0-2"))
        #expect(words.contains("--time=4"))
        request.timeLimit += .nanoseconds(1)
        #expect(request.test(comment.batch, script: ["/s"]).contains("--time=5"), "whole minutes, rounded up")
        request.timeLimit = .seconds(60)
        #expect(words.contains("--comment=opsd:i:1-9.1:p4"))
        let batches = Batch.split(Self.attempts(1...9), pack: 4, fence: 0, mostTasks: 100, isLimited: true)
        #expect(batches.map(\.text) == ["1-8.1:p4", "9.1:p4"])
        let rest = request.submission(
            JobComment(instance: "i", batch: batches[1]), output: "/dev/null", script: ["/s"])
        #expect(rest.contains("--time=1"), "the last task has one attempt")
        #expect(request.test(batches[1], script: ["/s"]).contains("--time=1"))
        #expect(ClusterConfiguration.mostTasks("A = 1\nMaxArraySize            = 1001\nB = 2\n") == 1000)
        #expect(
            ClusterConfiguration.mostTasks("MaxArraySize = 2\n") == 1
                && ClusterConfiguration.mostTasks("MaxArraySize = 1\n") == 1)
        #expect(ClusterConfiguration.mostTasks("") == nil)
        #expect(!words.contains { $0.hasPrefix("--nice") })
    }

    @Test func `a request to the node is read as it was written`() {
        var request = StepRequest()
        #expect(request.bytes.isEmpty)
        #expect(StepRequest(request.bytes) == request)
        var record = JobRecord()
        #expect(StepRequest(record) == request)
        record.isFrozen = true
        #expect(StepRequest(record).isFrozen)
        request.grace = .nanoseconds(5)
        request.isFrozen = true
        request.signal = 10
        request.signalledAt = .zero + .nanoseconds(7)
        #expect(StepRequest(request.bytes) == request)
    }
}

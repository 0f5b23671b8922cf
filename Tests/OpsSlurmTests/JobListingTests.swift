import OpsExecutor
import OpsSlurm
import OpsSystem
import Testing

/// Output of the commands of Slurm 22.05.
@Suite struct JobListingTests {
    private static let header = "JOBID|UID|STATE|REASON|EXIT_CODE|NODELIST|START_TIME|COMMENT|\n"

    @Test func `a listing skips jobs with other comments`() throws {
        let text = """
            \(Self.header)\
            4711|1000|PENDING|JobHeldUser|0||N/A|opsd:ab12:12.1|
            4712|1000|FAILED|NonZeroExitCode|768|n[1-2]|1795495255|opsd:ab12:13.2|
            4713|1000|RUNNING|None|0|n1|1795495255|a|b|
            of two lines|
            4714|1001|RUNNING|None|0|n1|1795495255|opsd:other:12.1|
            4715|1001|RUNNING|None|0|n1|1795495255|(null)|
            4716|1000|PENDING|Resources|0||1795495320|opsd:ab12:14.1|

            """
        let rows = try #require(JobListing(text, instance: "ab12")).rows
        #expect(rows.map(\.job) == ["4711", "4712", "4716"])
        #expect(rows.map(\.expectedStart) == [nil, nil, .zero + .seconds(1_795_495_320)])
        #expect(rows[0].isHeld)
        #expect(rows[0].text == "PENDING (JobHeldUser)")
        #expect(rows[1].batch.attempts == [AttemptID(OperationID(13), 2)])
        #expect(rows[1].waitStatus == 768)
        #expect(rows[1].state.meaning == .failed)
        #expect(rows[1].nodes == "n[1-2]")
        #expect(rows[1].text == "FAILED on n[1-2]")
    }

    @Test func `a listing without one of its columns is refused`() {
        let text =
            "JOBID|STATE|REASON|EXIT_CODE|NODELIST|COMMENT|\n4711|PENDING|JobHeldUser|0||opsd:ab12:12.1|\n"
        #expect(JobListing(text, instance: "ab12") == nil)
        // Slurm prints an empty title for a field that it does not know.
        let empty = "JOBID|UID|STATE|REASON|EXIT_CODE|NODELIST|START_TIME||\n"
        #expect(JobListing(empty, instance: "ab12") == nil)
        #expect(JobListing(Self.header, instance: "ab12")?.rows.isEmpty == true)
    }

    @Test(arguments: [
        "4711|1000|PENDING|Some\nreason|0||N/A|opsd:ab12:12.1|", "4711|1000|PENDING|a|b|0||N/A|opsd:ab12:12.1|",
        "4711|x|PENDING|JobHeldUser|0||N/A|opsd:ab12:12.1|", "4711|1000|PENDING|None|0||N/A|of two\nlines|",
    ])
    func `a listing with a row that cannot be read does not say that a job is missing`(row: String) throws {
        let other = "4712|1000|RUNNING|None|0|n1|1795495255|opsd:ab12:13.1|\n"
        let listing = try #require(JobListing(Self.header + row + "\n" + other, instance: "ab12"))
        #expect(listing.rows.map(\.job) == ["4712"])
        #expect(listing.problem == "a row of its output cannot be read")
        #expect(try #require(JobListing(Self.header + other, instance: "ab12")).problem == nil)
    }

    @Test func `output that was cut off is no listing`() {
        let row = "4711|1000|PENDING|JobHeldUser|0||N/A|opsd:ab12:12.1|\n"
        let text = Self.header + row
        #expect(JobListing(text, instance: "ab12") != nil)
        for count in 1..<row.count { #expect(JobListing(String(text.dropLast(count)), instance: "ab12") == nil) }
    }

    @Test func `a job that is not listed is found by its number, and its name or comment must be unchanged`() {
        let attempt = AttemptID(OperationID(12), 1)
        let jobs = ["4711", "4712"].map { UnlistedJob(job: $0, attempt: attempt, fence: 1) }
        #expect(UnlistedJob.command(jobs).contains("--jobs=4711,4712"))
        let held = { (row: String) in UnlistedJob.held(among: jobs, in: "\(row)|\n", instance: "ab12") }
        #expect(held("4711|PENDING|JobHeldUser|opsd-ab12-x|opsd:ab12:12.1:f1") == ["4711"])
        #expect(held("4712|PENDING|JobHeldUser|opsd-ab12|opsd:ab12:12.1:f1;site=1") == ["4712"])
        #expect(held("4711|PENDING|JobHeldUser|opsd-ab12|opsd:ab12:12-14.1:p3:f1") == ["4711"])
        for other in [
            "4711|PENDING|Priority|opsd-ab12|opsd:ab12:12.1:f1",
            "4711|RUNNING|None|opsd-ab12|opsd:ab12:12.1:f1",
            "4711|PENDING|JobHeldUser|opsd-ab12|opsd:ab12:12.1:f2",
            "4711|PENDING|JobHeldUser|opsd-ab12|opsd:ab12:13.1:f1",
            "4711|PENDING|JobHeldUser|opsd-ab12|opsd:cd:12.1:f1",
            "4711|PENDING|JobHeldUser|mine|opsd:ab12:12.1:f1;site=1",
            "4711_0|PENDING|JobHeldUser|opsd-ab12|a",
            "4713|PENDING|JobHeldUser|opsd-ab12|opsd:ab12:12.1:f1",
        ] {
            #expect(held(other).isEmpty, "\(other)")
        }
    }

    @Test func `comments that a user makes up neither crash the program nor fill its memory`() throws {
        var text = Self.header
        for job in 1...9 { text += "\(job)|1000|CANCELLED|None|0||N/A|opsd:ab12:1-90000.1|\n" }
        text += "10|1000|PENDING|JobHeldUser|0||N/A|opsd:ab12:1.1:p9223372036854775807|\n"
        text += "11|1000|PENDING|JobHeldUser|0||N/A|opsd:ab12:1-100000.1:p100000|\n"
        text += "12|1000|CANCELLED|None|0||N/A|opsd:ab12:7-8.1|\n"
        let rows = try #require(JobListing(text, instance: "ab12")).rows
        #expect(rows.count == 180_002)
        #expect(rows.last?.job == "12_1")
    }

    @Test func `empty output is no listing`() {
        #expect(JobListing("", instance: "ab12") == nil)
        #expect(JobOwners.parse("") == nil)
        #expect(JobOwners.parse("UID|\n") == [])
        #expect(JobOwners.parse("UID|\n61001|\n61002|\n61001|\n") == [61001, 61002])
        #expect(JobOwners.parse("UID|\nalice|\n") == nil)
    }

    @Test func `comments name at most four million attempts together`() throws {
        var text = Self.header
        for job in 1...41 { text += "\(job)_0|1000|RUNNING|None|0|n1|N/A|opsd:ab12:\(job)-\(job + 99_998).1|\n" }
        let rows = try #require(JobListing(text, instance: "ab12")).rows
        #expect(rows.count == 40)
        #expect(JobListing(text, instance: "ab12")?.problem != nil)
    }

    @Test func `each state of a job has a meaning, and unknown ones do not say that it has ended`() {
        let names: [JobState.Meaning: [String]] = [
            .pending: ["PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"],
            .active: ["RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "NEW_STATE", ""],
            .succeeded: ["COMPLETED"], .failed: ["FAILED"], .cancelled: ["CANCELLED", "REVOKED"],
            .timedOut: ["TIMEOUT", "DEADLINE"], .outOfMemory: ["OUT_OF_MEMORY"],
            .nodeFailed: ["NODE_FAIL", "BOOT_FAIL"], .preempted: ["PREEMPTED"],
        ]
        for (meaning, names) in names {
            let hasEnded = meaning != .pending && meaning != .active
            for name in names {
                #expect(JobState(name).meaning == meaning, "\(name)")
                #expect(JobState(name).hasEnded == hasEnded, "\(name)")
            }
        }
    }

    @Test func `the reason of a waiting job tells whether it can ever run`() {
        let batch = Batch([AttemptID(OperationID(12), 1)])
        let row = { (state: String, reason: String) in
            JobRow(
                job: "1", batch: batch, user: 7, state: JobState(state), reason: reason, waitStatus: 0, nodes: "")
        }
        for reason in ["BadConstraints", "PartitionConfig", "PartitionNodeLimit"] {
            #expect(row("PENDING", reason).isImpossible, "\(reason)")
            #expect(!row("RUNNING", reason).isImpossible, "\(reason)")
        }
        for reason in ["None", "Priority", "Resources", "JobHeldUser", "PartitionDown"] {
            #expect(!row("PENDING", reason).isImpossible, "\(reason)")
        }
    }

    @Test(arguments: ["opsd:i:12", "opsd::12.1", "opsd:i:12.1:", "opsd:i:012.1", "opsd:i:12.-1", "(null)"])
    func `comments of other programs are refused`(text: String) { #expect(JobComment(text) == nil) }

    @Test func `a reply of sbatch is accepted, refused or ambiguous`() {
        for output in ["4711\n", "Welcome to the cluster\n4711\n"] {
            #expect(Submission(status: 0, output: output, errors: "") == .accepted(job: "4711"))
        }
        for output in [";\n", "-5\n", "\u{664}\u{667}\n", "4711 4712\n"] {
            #expect(Submission(status: 0, output: output, errors: "") == .ambiguous("no number of a job in its output"))
        }
        #expect(
            Submission(status: 0, output: "4711;t\n", errors: "sbatch: error: No PATH environment variable\n")
                == .accepted(job: "4711"))
        let lost = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n"
        #expect(
            Submission(status: 1, output: "", errors: lost) == .ambiguous("Socket timed out on send/recv operation"))
        let wrong =
            "sbatch: error: invalid partition specified: x\n"
            + "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
        #expect(Submission(status: 1, output: "", errors: wrong) == .refused("Invalid partition name specified"))
        let policy = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
        let limit = "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: \(policy)\n"
        #expect(Submission(status: 1, output: "", errors: limit) == .ambiguous("AssocMaxSubmitJobLimit; \(policy)"))
        let time =
            "sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission failed: \(policy)\n"
        #expect(Submission(status: 1, output: "", errors: time) == .refused(policy))
        for (status, text) in [
            (nil, "no answer"), (0, "no number of a job in its output"), (1, "exit status 1 without a message"),
        ] as [(Int32?, String)] {
            #expect(Submission(status: status, output: "", errors: " \n") == .ambiguous(text))
        }
    }

    @Test func `the last lines of a message become one line of limited length`() {
        let account = "sbatch: error: You must give --account\n\nsbatch: error: Unspecified error\n"
        #expect(SlurmMessage.text(account) == "You must give --account; Unspecified error")
        let lines = (1...9).map { "sbatch: \($0)\n" }.joined()
        #expect(SlurmMessage.text(lines) == "7; 8; 9")
        #expect(SlurmMessage.text(String(repeating: "x", count: 5000)).count == 300)
        #expect(SlurmMessage.text("slurm_load_jobs error: a\n") == "slurm_load_jobs error: a")
    }

    @Test func `an sbatch that cannot be executed or that Slurm does not recognize refuses nothing`() {
        let library = "libslurmfull.so: cannot open shared object file: No such file or directory"
        let loader = "sbatch: error while loading shared libraries: \(library)\n"
        for status in [126, 127] as [Int32] {
            guard case .ambiguous = Submission(status: status, output: "", errors: loader) else {
                Issue.record("the operation would fail while Slurm is being upgraded")
                continue
            }
        }
        let credential = "Invalid authentication credential"
        let errors = "sbatch: error: Batch job submission failed: \(credential)\n"
        #expect(Submission(status: 1, output: "", errors: errors) == .ambiguous(credential))
    }

    @Test func `texts that a user adds to those of Slurm are cut`() throws {
        let long = String(repeating: "x", count: 5000)
        let refusal = "invalid " + String(repeating: "x", count: 992)
        #expect(Submission(status: 1, output: "", errors: "sbatch: error: invalid \(long)\n") == .refused(refusal))
        let number = String(repeating: "7", count: 41)
        let silence = Submission.ambiguous("no number of a job in its output")
        #expect(Submission(status: 0, output: "\(number)\n", errors: "") == silence)
        #expect(JobNumber(number) == nil && JobNumber("4294967295_4294967295") != nil)
        let text = "\(Self.header)1|1000|\(long)|\(long)|0|\(long)|N/A|opsd:ab12:12.1|\n"
        let row = try #require(JobListing(text, instance: "ab12")?.rows.first)
        #expect([row.state.name, row.reason, row.nodes].allSatisfy { $0.count == 500 })
    }

    @Test func `a job request is written as options of sbatch`() {
        var request = JobRequest()
        request.cpus = 4
        request.memory = 8 << 30
        request.partition = "long"
        request.further = ["--gres=gpu:1"]
        request.timeLimit = .seconds(90)
        request.niceness = 3
        let words = request.submission(
            JobComment(instance: "i", batch: Batch([AttemptID(OperationID(12), 1)])), output: "/s/50%/log",
            script: ["/s/step.sh", "/s/12.1"])
        #expect(words.contains("--hold"))
        #expect(words.contains("--comment=opsd:i:12.1"))
        #expect(words.contains("--time=2"))
        #expect(words.contains("--nice=3"))
        #expect(words.contains("--mem=8388608K"))
        #expect(words.contains("--output=/s/50%%/log"))
        #expect(words.suffix(3) == ["--gres=gpu:1", "/s/step.sh", "/s/12.1"])
        #expect(!request.test(Batch([AttemptID(OperationID(12), 1)]), script: ["/s/step.sh"]).contains("--hold"))
    }

    @Test func `each resource of a request is an option of sbatch, and memory is rounded up`() {
        var request = JobRequest()
        request.memory = 1025
        request.gpus = 2
        request.nodes = 3
        request.tasks = 5
        request.account = "a"
        request.qos = "q"
        request.constraint = "c"
        let words = request.test(Batch([AttemptID(OperationID(12), 1)]), script: ["s"])
        let resources = [
            "--mem=2K", "--gpus=2", "--nodes=3", "--ntasks=5", "--account=a", "--qos=q", "--constraint=c",
        ]
        #expect(words == ["sbatch", "--test-only"] + resources + ["s"])
    }

    @Test func `the last complete entries of each attempt count`() {
        let first = AttemptID(OperationID(12), 1)
        let second = AttemptID(OperationID(13), 2)
        var record = JobRecord()
        record.mayBeSubmitted = true
        // Bytes of a launch may look like an entry.
        let launch = Array("a\n.\n@12.1 gone 0\n.\n".utf8)
        var bytes = RecordEntries.bytes(first, record: JobRecord()) + RecordEntries.bytes(second, record: record)
        bytes += RecordEntries.bytes(first, launch: [1]) + RecordEntries.bytes(first, launch: launch)
        record.job = "4711"
        bytes += RecordEntries.bytes(first, record: record)
        var facts = RecordEntries.Facts()
        facts.record = record
        facts.launch = launch
        var others = RecordEntries.Facts()
        others.record = JobRecord(Array("submitted\n".utf8))
        let expected = [first: facts, second: others]
        #expect(RecordEntries(bytes).facts == expected)
        var released = record
        released.isReleased = true
        let last = RecordEntries.bytes(first, record: released)
        for count in last.indices {
            #expect(RecordEntries(bytes + last[..<count]).facts == expected, "\(count) bytes of the last entry")
        }
        #expect(RecordEntries(bytes + last).facts[first]?.record == released)
        #expect(RecordEntries(bytes + [0, 0, 0, 10]).facts == expected)
        #expect(RecordEntries(bytes + RecordEntries.bytes(gone: first)).facts == [second: others])
        #expect(RecordEntries(bytes + Array("@12.1 record -1\n.\n".utf8)).facts == expected)
        // In two portions, of which the first ends within an entry.
        var entries = RecordEntries()
        let count = entries.add(Array(bytes.dropLast(3)))
        #expect(entries.add(Array(bytes[count...])) == bytes.count - count)
        #expect(entries.facts == expected)
    }

    @Test func `records are read as they were written`() throws {
        let usage = ProcessUsage(userMicroseconds: 1, systemMicroseconds: 2, maxResidentBytes: 3)
        let exit = ExitRecord(status: .signal(11), usage: usage, at: .zero + .nanoseconds(5))
        #expect(ExitRecord(exit.bytes) == exit)
        #expect(ExitRecord([]) == nil)
        var failed = ExitRecord(status: .code(127), at: .zero + .nanoseconds(5))
        // Earlier releases did not say why a command had not started.
        #expect(ExitRecord(Array("code 127\nat 5\n".utf8)) == failed)
        failed.startFailure = SpawnError(step: "exec /a b", errno: 2)
        #expect(ExitRecord(failed.bytes) == failed)
        let start = StartRecord(node: "n1", job: "4711", at: .zero + .nanoseconds(5))
        #expect(StartRecord(start.bytes) == start)
        var record = JobRecord()
        record.mayBeSubmitted = true
        record.job = "4711"
        record.isReleased = true
        record.isShared = true
        record.fence = 2
        record.isFrozen = true
        record.isResumeDue = true
        record.isTerminated = true
        record.grace = .seconds(5)
        record.refusal = "no such partition"
        #expect(JobRecord(record.bytes) == record)
        let launch = LaunchRequest(attempt: AttemptID(OperationID(1), 2), arguments: ["a", "b c"], job: "9")
        #expect(try SpooledLaunch.request(SpooledLaunch.bytes(launch)) == launch)
    }
}

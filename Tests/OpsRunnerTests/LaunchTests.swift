import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// With control groups if this machine allows them, and always without.
let treeKinds: [Bool] = [true, false]

@Suite struct LaunchTests {
    @Test(arguments: treeKinds)
    func `an exit is reported with status, usage and output`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(1, "echo out; echo err >&2; exit 3")
        let before = Clock.read()
        try runner.send([.launch(request)])
        let process = try runner.awaitLaunched(request.attempt)
        let (exit, treeIsGone) = try runner.awaitExit(request.attempt)
        let after = Clock.read()
        #expect(exit.status == .code(3))
        #expect(treeIsGone)
        #expect(!exit.outOfMemory)
        #expect(exit.usage.maxResidentBytes > 0)
        #expect(process.pid > 0 && process.startTicks > 0)
        #expect(before.monotonic <= process.at.monotonic && process.at.monotonic <= exit.at.monotonic)
        #expect(exit.at.monotonic <= after.monotonic)
        #expect(try runner.text("log.1.1") == "out\nerr\n")
    }

    @Test func `start ticks are those of the kernel`() throws {
        let runner = try RunnerProcess()
        for operation in 1...20 as ClosedRange<Int64> {
            let request = runner.request(operation, "sleep 1000")
            try runner.send([.launch(request)])
            let process = try runner.awaitLaunched(request.attempt)
            #expect(try ProcessRecord.read(process.pid)?.startTicks == process.startTicks)
        }
        try runner.send([.stop(grace: .zero)])
    }

    @Test func `a batch of launches is carried out and reported`() throws {
        let runner = try RunnerProcess()
        let requests = (1...200 as ClosedRange<Int64>).map { runner.request($0, "exit \($0 % 100)") }
        try runner.send(requests.map { .launch($0) })
        for request in requests {
            #expect(
                try runner.awaitExit(request.attempt).exit.status
                    == .code(Int32(request.attempt.operation.rawValue % 100)))
        }
        try runner.send(requests.map { .acknowledge($0.attempt) })
        try runner.settle()
        #expect(runner.greeting?.entries.isEmpty == true)
    }

    @Test(arguments: treeKinds)
    func `a failed launch names the step and its subject`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var missing = runner.request(1, "")
        missing.arguments = ["/no/such"]
        var lost = runner.request(2, "true")
        lost.directory = "/no/such"
        var closed = runner.request(3, "true")
        closed.output = .paths(stdout: "/no/such/out", stderr: "/dev/null")
        try Files.replace(runner.path("script"), with: Array("#!/no/interpreter\n".utf8), mode: 0o755)
        var orphan = runner.request(4, "")
        orphan.arguments = [runner.path("script")]
        try runner.send([.launch(missing), .launch(lost), .launch(closed), .launch(orphan)])
        func failure(_ attempt: AttemptID) throws -> String {
            try runner.await {
                if case .failed(attempt, let step, let errno) = $0 { "\(step) \(errno)" } else { nil }
            }
        }
        #expect(try failure(missing.attempt) == "exec /no/such \(ENOENT)")
        #expect(try failure(lost.attempt) == "directory /no/such \(ENOENT)")
        #expect(try failure(closed.attempt) == "standard output /no/such/out \(ENOENT)")
        #expect(try failure(orphan.attempt) == "exec the interpreter of \(runner.path("script")) \(ENOENT)")
        try runner.settle()
        #expect(runner.greeting?.entries.count == 4)
        // A repeated launch is answered with the same failure.
        try runner.send([.launch(missing)])
        #expect(try failure(missing.attempt) == "exec /no/such \(ENOENT)")
    }

    @Test func `a repeated launch starts nothing`() throws {
        let runner = try RunnerProcess()
        let request = runner.request(1, "echo once >> $DIR/marks; read line < $DIR/fifo")
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(request), .launch(request)])
        let first = try runner.awaitLaunched(request.attempt)
        #expect(try runner.awaitLaunched(request.attempt) == first)
        _ = try runner.awaitFile("marks")
        try runner.send([.terminate(request.attempt, grace: .seconds(10))])
        #expect(try runner.awaitExit(request.attempt).exit.status == .signal(SIGTERM))
        try runner.send([.launch(request)])
        #expect(try runner.awaitLaunched(request.attempt) == first)
        #expect(try runner.awaitExit(request.attempt).exit.status == .signal(SIGTERM))
        #expect(try runner.text("marks") == "once\n")
    }

    @Test func `split output goes into two files`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(1, "echo out; echo err >&2")
        request.output = .split(stdout: runner.path("deep/er/out"), stderr: runner.path("deep/err"))
        try runner.send([.launch(request)])
        _ = try runner.awaitExit(request.attempt)
        #expect(try runner.text("deep/er/out") == "out\n")
        #expect(try runner.text("deep/err") == "err\n")
    }

    @Test func `an operation has its own limit of open files`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(1, "ulimit -Sn; ls /proc/$$/fd | tr '\\n' ' '")
        try runner.send([.launch(request)])
        _ = try runner.awaitExit(request.attempt)
        let soft = try OpenFiles.limit().soft
        #expect(try runner.text("log.1.1").hasPrefix("\(soft)\n0 1 2"))
        request = runner.request(2, "ulimit -Sn")
        request.resourceLimits = [ResourceLimit(.openFiles, soft: 33, hard: 44)]
        try runner.send([.launch(request)])
        _ = try runner.awaitExit(request.attempt)
        #expect(try runner.text("log.2.1") == "33\n")
    }

    @Test func `a log keeps its newest part`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(1, "yes 0123456789abcde | head -c 64M; echo end")
        request.logCap = 1 << 20
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        let path = runner.path("log.1.1")
        let size = try sizes(of: path)
        #expect(size.length == 64 << 20 + 4)
        #expect(size.stored <= 2 << 20)
        let log = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(log) }
        var newest = [UInt8](repeating: 0, count: 1 << 20)
        #expect(pread(log, &newest, newest.count, off_t(size.length) - off_t(newest.count)) == newest.count)
        #expect(!newest.contains(0))
        #expect(String(decoding: newest.suffix(20), as: UTF8.self) == "0123456789abcde\nend\n")
    }

    @Test func `a log without a cap is kept whole`() throws {
        let runner = try RunnerProcess()
        for (operation, cap) in [(1, Int64.max), (2, 0)] as [(Int64, Int64)] {
            var request = runner.request(operation, "yes 0123456789abcde | head -c 1M")
            request.logCap = cap
            try runner.send([.launch(request)])
            #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
            #expect(try sizes(of: runner.path("log.\(operation).1")).stored >= 1 << 20)
        }
    }

    @Test(arguments: treeKinds)
    func `the cap applies as long as any process of the attempt writes`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(
            1, "(while ! [ -e $DIR/go ]; do sleep 0.01; done; yes 0123456789abcde | head -c 64M) & exit 0")
        request.logCap = 1 << 20
        request.leftovers = .wait
        try runner.send([.launch(request)])
        #expect(try !runner.awaitExit(request.attempt).treeIsGone)
        #expect(creat(runner.path("go"), 0o600) >= 0)
        try runner.awaitGone(request.attempt)
        let size = try sizes(of: runner.path("log.1.1"))
        #expect(size.length == 64 << 20)
        #expect(size.stored <= 2 << 20)
    }

    @Test func `an output directory is made although the one above it was removed`() throws {
        let runner = try RunnerProcess()
        for operation in 1...2 as ClosedRange<Int64> {
            var request = runner.request(operation, "test -d $OPS_OUTPUT_DIR")
            request.outputDirectory = runner.path("outputs/0/\(operation)")
            try runner.send([.launch(request)])
            #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
            removeTree(runner.path("outputs"))
        }
    }

    @Test func `an output directory is made after the one above it could not be made`() throws {
        let runner = try RunnerProcess()
        try Files.replace(runner.path("outputs"), with: [], mode: 0o600)
        var first = runner.request(1, "true")
        first.outputDirectory = runner.path("outputs/0/1")
        try runner.send([.launch(first)])
        try runner.await { if case .failed(first.attempt, _, ENOTDIR) = $0 { () } else { nil } }
        try Files.remove(runner.path("outputs"))
        var second = runner.request(2, "test -d $OPS_OUTPUT_DIR")
        second.outputDirectory = runner.path("outputs/0/2")
        try runner.send([.launch(second)])
        #expect(try runner.awaitExit(second.attempt).exit.status == .code(0))
    }

    /// After a backup was restored, attempts start again that the backup does not contain. The second launch takes the
    /// unused directory of the first one; the third finds none.
    @Test func `an output directory is empty although an attempt of the same name has left files`() throws {
        let runner = try RunnerProcess()
        for operation in 1...3 as ClosedRange<Int64> {
            let path = runner.path("outputs/0/\(operation).1")
            if operation > 1 {
                try Files.makeDirectories(path, mode: 0o700)
                try Files.replace(path + "/old", with: [1], mode: 0o600)
            }
            let leaves = operation == 2 ? "; touch $OPS_OUTPUT_DIR/new" : ""
            var request = runner.request(operation, "ls -A $OPS_OUTPUT_DIR" + leaves)
            request.outputDirectory = path
            try runner.send([.launch(request)])
            #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
            #expect(try runner.text("log.\(operation).1").isEmpty)
            #expect(operation == 1 || Files.exists(path + ".old1/old"))
        }
    }

    @Test(arguments: treeKinds)
    func `an output directory that a leftover process may use is not that of a later attempt`(
        usesControlGroups: Bool
    ) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var leaves = runner.request(
            1,
            """
            cd $OPS_OUTPUT_DIR
            (while ! [ -e $DIR/go ]; do sleep 0.01; done; touch late; echo done > $DIR/done) & exit 0
            """)
        leaves.outputDirectory = runner.path("outputs/1")
        leaves.leftovers = .leave
        try runner.send([.launch(leaves)])
        _ = try runner.awaitExit(leaves.attempt)
        var next = runner.request(2, "while ! [ -s $DIR/done ]; do sleep 0.01; done; ls -A $OPS_OUTPUT_DIR")
        next.outputDirectory = runner.path("outputs/2")
        try runner.send([.launch(next)])
        _ = try runner.awaitLaunched(next.attempt)
        #expect(creat(runner.path("go"), 0o600) >= 0)
        #expect(try runner.awaitExit(next.attempt).exit.status == .code(0))
        #expect(try runner.text("log.2.1").isEmpty)
    }
}

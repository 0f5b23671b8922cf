import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// Messages that operations send to $NOTIFY_SOCKET.
@Suite struct NotifyTests {
    static let sender = "/usr/bin/systemd-notify"
    static let hasSender = Files.exists(sender)

    func awaitUpdate(_ runner: RunnerProcess, _ attempt: AttemptID, until isDone: (OperationUpdate) -> Bool) throws
        -> OperationUpdate
    {
        var all = OperationUpdate()
        while !isDone(all) {
            let update: OperationUpdate = try runner.await {
                if case .updated(attempt, let update) = $0 { update } else { nil }
            }
            all.status = update.status ?? all.status
            all.progressDone = update.progressDone ?? all.progressDone
            all.progressTotal = update.progressTotal ?? all.progressTotal
            all.result = update.result ?? all.result
            all.finished = update.finished ?? all.finished
            all.extendTimeout = update.extendTimeout ?? all.extendTimeout
        }
        return all
    }

    @Test(.enabled(if: hasSender, "SKIPPED: systemd-notify is not installed"), arguments: treeKinds)
    func `systemd-notify works in a script`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(
            1,
            """
            systemd-notify --status='half way' || exit 11
            setsid sh -c 'systemd-notify X_OPS_PROGRESS=42/100 X_OPS_RESULT=ok; true' || exit 12
            systemd-notify EXTEND_TIMEOUT_USEC=5 X_OPS_FINISHED=3 || exit 13
            """)
        try runner.send([.launch(request)])
        let update = try awaitUpdate(runner, request.attempt) { $0.finished != nil }
        #expect(
            update
                == OperationUpdate(
                    status: "half way", progressDone: 42, progressTotal: 100, result: "ok", finished: 3,
                    extendTimeout: .nanoseconds(5000)))
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
    }

    /// As root, `systemd-notify` sends in the name of its parent, which is the runner by then.
    @Test(.enabled(if: hasSender, "SKIPPED: systemd-notify is not installed"), arguments: treeKinds)
    func `a message of an orphan counts`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(
            1, "(read line < $DIR/fifo; exec systemd-notify STATUS=late X_OPS_FINISHED=3) & exit 0")
        request.slot = 0
        request.leftovers = .wait
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(request)])
        #expect(try !runner.awaitExit(request.attempt).treeIsGone)
        let fifo = open(runner.path("fifo"), O_WRONLY)
        #expect(write(fifo, "go\n", 3) == 3)
        close(fifo)
        let update = try awaitUpdate(runner, request.attempt) { $0.finished != nil }
        #expect(update == OperationUpdate(status: "late", finished: 3))
    }

    /// The state directory of a test is closed to other users, like that of root.
    @Test func `the notify address is a file in the file system`() throws {
        let runner = try RunnerProcess()
        let request = runner.request(1, "test -S $NOTIFY_SOCKET && echo $NOTIFY_SOCKET > $DIR/address")
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        let address = String(try runner.awaitFile("address").dropLast())
        #expect(geteuid() != 0 || Files.isReachableByAll(address))
    }

    @Test(.enabled(if: hasSender, "SKIPPED: systemd-notify is not installed"), arguments: treeKinds)
    func `messages of processes outside the operation are ignored`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(
            1, "echo $NOTIFY_SOCKET > $DIR/address; read line < $DIR/fifo; systemd-notify READY=1 STATUS=own")
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(request)])
        let address = try runner.awaitFile("address").dropLast()
        let stranger = Spawn(
            arguments: [Self.sender, "STATUS=strange", "X_OPS_FINISHED=0"],
            environment: ["NOTIFY_SOCKET=\(address)", "OPS_ID=1", "OPS_ATTEMPT=2"])
        #expect(try Children.wait(for: try stranger.start())?.status == .code(0))
        let fifo = open(runner.path("fifo"), O_WRONLY)
        #expect(write(fifo, "go\n", 3) == 3)
        close(fifo)
        #expect(try awaitUpdate(runner, request.attempt) { $0.status != nil } == OperationUpdate(status: "own"))
    }

    /// Shell command that sends a message and does not wait until it is read.
    static let hasty = """
        hasty() { perl -MSocket -e 'socket(S, AF_UNIX, SOCK_DGRAM, 0) or exit 1; my $to = $ENV{NOTIFY_SOCKET};
        $to =~ s/^@/\\0/; send(S, $ARGV[0], 0, pack_sockaddr_un($to)) or exit 2' "$1" && echo said > $DIR/said; }
        read line < $DIR/fifo

        """

    /// Stops the runner, and lets the process that reads from the FIFO go on.
    private func stopRunnerAndWakeSender(_ runner: RunnerProcess) throws {
        kill(runner.pid, SIGSTOP)
        try runner.until("it did not stop") { try ProcessRecord.read(runner.pid)?.state == UInt8(ascii: "T") }
        let fifo = open(runner.path("fifo"), O_WRONLY)
        #expect(write(fifo, "go\n", 3) == 3)
        close(fifo)
    }

    /// The runner is stopped while an operation sends a message and ends. Later it finds a message whose sender no
    /// longer exists.
    @Test(
        arguments: [
            "hasty X_OPS_FINISHED=0", "hasty X_OPS_FINISHED=0; exit 3", "(setsid sh -c :; hasty X_OPS_FINISHED=0) &",
        ], treeKinds)
    func `a message of a process that has ended is received`(script: String, usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(1, Self.hasty + script)
        request.leftovers = .wait
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(request)])
        _ = try runner.awaitLaunched(request.attempt)
        try stopRunnerAndWakeSender(runner)
        // From here on no process is started.
        _ = try runner.awaitFile("said")
        try runner.until("it is still alive") { try runner.survivors().isEmpty }
        kill(runner.pid, SIGCONT)
        let first: ExecutorReport = try runner.await { if case .gone = $0 { nil } else { $0 } }
        #expect(first == .updated(request.attempt, OperationUpdate(finished: 0)))
        _ = try runner.awaitExit(request.attempt)
    }

    /// Shell command that sends the last descriptor of a socket whose close waits for an hour, and then a message.
    private static let slowToClose = """
        exec python3 - <<'E'
        import os, socket, struct, time
        listener = socket.create_server(("127.0.0.1", 0))
        stuck = socket.create_connection(listener.getsockname())
        peer = listener.accept()[0]
        stuck.setblocking(False)
        try:
            while True:
                stuck.send(bytes(65536))
        except BlockingIOError:
            pass
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = os.environ["NOTIFY_SOCKET"]
        notify.connect("\\0" + address[1:] if address.startswith("@") else address)
        open(os.environ["DIR"] + "/fifo").readline()
        socket.send_fds(notify, [b"X_OPS_PROGRESS=1"], [stuck.fileno()])
        stuck.close()
        notify.send(b"STATUS=second")
        with open(os.environ["DIR"] + "/said", "w") as said:
            said.write("said\\n")
        # The peer closes in time for the end of a test that fails.
        time.sleep(30)
        E
        """

    @Test(arguments: [-1, 0] as [Int32])
    func `a descriptor that does not close delays no message`(slot: Int32) throws {
        let runner = try RunnerProcess()
        var request = runner.request(1, Self.slowToClose)
        request.slot = slot
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(request)])
        _ = try runner.awaitLaunched(request.attempt)
        // The runner is stopped until the sender has closed the descriptor: it gets the last one.
        try stopRunnerAndWakeSender(runner)
        _ = try runner.awaitFile("said")
        kill(runner.pid, SIGCONT)
        let update = try awaitUpdate(runner, request.attempt) { $0.status != nil }
        #expect(update == OperationUpdate(status: "second", progressDone: 1))
    }

    /// Shell command that fills the socket, and says how many messages it takes.
    private static let fill = """
        read line < $DIR/fifo
        perl -MSocket -e 'socket(S, AF_UNIX, SOCK_DGRAM, 0) or exit 1; my $to = $ENV{NOTIFY_SOCKET}; $to =~ s/^@/\\0/;
        my $sent = 0; $sent++ while send(S, "X_OPS_PROGRESS=" . ($sent + 1), MSG_DONTWAIT, pack_sockaddr_un($to));
        open(F, ">", "$ENV{DIR}/sent"); print F "$sent\\n"; close(F)'
        """

    @Test(arguments: treeKinds)
    func `all messages of a full socket are reported before the end, the last one last`(
        usesControlGroups: Bool
    ) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(1, Self.fill)
        request.slot = 0
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(request)])
        _ = try runner.awaitLaunched(request.attempt)
        try stopRunnerAndWakeSender(runner)
        let sent = try #require(Int64(try runner.awaitFile("sent").dropLast()))
        try runner.until("it is still alive") { try runner.survivors().isEmpty }
        kill(runner.pid, SIGCONT)
        var last: Int64?
        var hasEnded = false
        while !hasEnded {
            let report: ExecutorReport = try runner.await { $0 }
            if case .updated(_, let update) = report { last = update.progressDone }
            if case .exited = report { hasEnded = true }
        }
        #expect(sent > 0 && last == sent)
    }

    /// Shell script that becomes the runner, whose sockets hold more messages than it reads at the end of an operation.
    /// Where that is not possible they hold as many as elsewhere.
    private static let withLongQueues = """
        unshare -n true || exec "$@"
        exec unshare -n sh -c 'echo 4000 > /proc/sys/net/unix/max_dgram_qlen; exec "$@"' sh "$@"
        """

    /// Shell command that fills the socket. Each sender may have only some hundreds of messages in it.
    private static let fillFromManySenders = """
        read line < $DIR/fifo
        perl -MSocket -e 'my @senders; my $to = $ENV{NOTIFY_SOCKET}; $to =~ s/^@/\\0/;
        for (1..30) { socket(my $sender, AF_UNIX, SOCK_DGRAM, 0) or exit 1; push @senders, $sender;
        while (send($sender, "STATUS=old", MSG_DONTWAIT, pack_sockaddr_un($to))) {} }
        open(F, ">", "$ENV{DIR}/sent"); print F "all\\n"; close(F)'
        """

    @Test(.enabled(if: geteuid() == 0, "SKIPPED: only root can make queues longer"), arguments: treeKinds)
    func `messages that are left at the end of an operation do not count for the next one of its slot`(
        usesControlGroups: Bool
    ) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups, script: Self.withLongQueues)
        let tokens = try runner.shareTokens()
        try tokens.add()
        var first = runner.request(1, Self.fillFromManySenders)
        first.slot = 3
        let next = runner.request(2, "true")
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(first), .stage(next, after: [])])
        _ = try runner.awaitLaunched(first.attempt)
        try stopRunnerAndWakeSender(runner)
        _ = try runner.awaitFile("sent")
        try runner.until("it is still alive") { try runner.survivors().isEmpty }
        kill(runner.pid, SIGCONT)
        #expect(try runner.awaitExit(next.attempt).exit.status == .code(0))
        #expect(!runner.reports.contains { if case .updated(next.attempt, _) = $0 { true } else { false } })
    }

    /// Shell command that floods the socket from the end of a long chain of processes, in a session of their own.
    private static let flood = """
        setsid perl -MSocket -e 'for (1..250) { my $child = fork; if ($child) { sleep; exit } }
        socket(S, AF_UNIX, SOCK_DGRAM, 0) or exit 1; my $to = $ENV{NOTIFY_SOCKET}; $to =~ s/^@/\\0/;
        open(F, ">", "$ENV{DIR}/flooding"); print F "yes\\n"; close(F);
        while (1) { send(S, "STATUS=flood", 0, pack_sockaddr_un($to)) }' &
        exec sleep 1000
        """

    /// Without control groups the runner follows the whole chain to find the operation of the sender.
    @Test(arguments: [-1, 0] as [Int32])
    func `a flood of messages from a long chain of processes delays no other operation`(slot: Int32) throws {
        let runner = try RunnerProcess(usesControlGroups: false)
        var request = runner.request(1, Self.flood)
        request.slot = slot
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("flooding")
        let start = Clock.read().monotonic
        for operation in 2...6 as ClosedRange<Int64> {
            let other = runner.request(operation, "exit 3")
            try runner.send([.launch(other)])
            #expect(try runner.awaitExit(other.attempt).exit.status == .code(3))
        }
        // Each of more than ten turns would take more than a second.
        #expect(Clock.read().monotonic - start < .seconds(4))
    }

    @Test(arguments: treeKinds)
    func `a notify address is reused with its slot unless a leftover process knows it`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        func address(_ operation: Int64, leaving: Bool = false) throws -> String {
            var request = runner.request(operation, "echo $NOTIFY_SOCKET")
            request.slot = 5
            if leaving {
                request.leftovers = .leave
                request.arguments[2] += "; setsid sleep 1000 &"
            }
            try runner.send([.launch(request)])
            _ = try runner.awaitExit(request.attempt)
            return try runner.text("log.\(operation).1")
        }
        let first = try address(1)
        #expect(first.hasSuffix("\n"))
        #expect(try address(2) == first)
        #expect(try address(3, leaving: true) == first)
        #expect(try address(4) != first)
        try runner.killLeftover()
    }

    @Test(arguments: treeKinds)
    func `messages are received after an upgrade in place`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let script = Self.hasty + "hasty STATUS=first; read line < $DIR/fifo; hasty X_OPS_FINISHED=0; exec sleep 1000"
        let request = runner.request(1, script)
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(request)])
        let process = try runner.awaitLaunched(request.attempt)
        func go() {
            let fifo = open(runner.path("fifo"), O_WRONLY)
            #expect(write(fifo, "go\n", 3) == 3)
            close(fifo)
        }
        go()
        #expect(try awaitUpdate(runner, request.attempt) { $0.status != nil } == OperationUpdate(status: "first"))
        try runner.send([.reexecute])
        try runner.awaitHangUp()
        try runner.connect()
        #expect(runner.greeting?.entries == [.init(request.attempt, .running(process))])
        go()
        #expect(try awaitUpdate(runner, request.attempt) { $0.finished != nil }.finished == 0)
    }

    @Test(.enabled(if: hasSender, "SKIPPED: systemd-notify is not installed"))
    func `updates sent while there is no daemon are reported to the next one`() throws {
        let runner = try RunnerProcess()
        let request = runner.request(
            1, "read line < $DIR/fifo; systemd-notify X_OPS_RESULT=kept; echo said > $DIR/said; sleep 1000")
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(request)])
        _ = try runner.awaitLaunched(request.attempt)
        runner.disconnect()
        let fifo = open(runner.path("fifo"), O_WRONLY)
        #expect(write(fifo, "go\n", 3) == 3)
        close(fifo)
        _ = try runner.awaitFile("said")
        // The update is repeated to each new daemon, because the previous one may have lost it.
        for _ in 0..<2 {
            try runner.connect()
            #expect(try awaitUpdate(runner, request.attempt) { $0.result != nil } == OperationUpdate(result: "kept"))
        }
    }

    /// A daemon that dies may not have read the report of the extension.
    @Test func `the rest of an extension is reported to each new daemon`() throws {
        let runner = try RunnerProcess()
        let request = runner.request(
            1,
            Self.hasty + """
                hasty EXTEND_TIMEOUT_USEC=600000000; hasty EXTEND_TIMEOUT_USEC=1; hasty STATUS=on; exec sleep 1000
                """)
        let before = Clock.read().monotonic
        try runner.send([.launch(request)])
        _ = try awaitUpdate(runner, request.attempt) { $0.status != nil }
        let after = Clock.read().monotonic
        for reexecutes in [false, false, true] {
            if reexecutes {
                try runner.send([.reexecute])
                try runner.awaitHangUp()
            }
            let asked = Clock.read().monotonic
            try runner.connect()
            let update = try awaitUpdate(runner, request.attempt) { $0.status != nil }
            let rest = try #require(update.extendTimeout)
            #expect(rest <= TimeSpan.seconds(600) - (asked - after))
            #expect(rest >= TimeSpan.seconds(600) - (Clock.read().monotonic - before))
        }
    }

    /// The update also arrives for an attempt that has ended meanwhile, and before the greeting, which reports the end.
    @Test(arguments: treeKinds)
    func `updates of an ended process are reported before its end`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(1, Self.hasty + "hasty X_OPS_RESULT=kept; hasty EXTEND_TIMEOUT_USEC=5")
        try runner.send([.launch(request)])
        _ = try runner.awaitExit(request.attempt)
        for _ in 0..<2 {
            try runner.connect()
            #expect(runner.reports == [.updated(request.attempt, OperationUpdate(result: "kept"))])
            #expect(runner.greeting?.entries.map(\.attempt) == [request.attempt])
        }
        try runner.send([.acknowledge(request.attempt)])
        try runner.connect()
        #expect(runner.reports == [])
    }
}

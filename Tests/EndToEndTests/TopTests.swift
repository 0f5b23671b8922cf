import Glibc
import PseudoTerminal
import Testing

@Suite struct TopTests {
    private func top(_ machine: Machine, columns: Int = 100) throws -> TerminalProgram {
        try machine.terminal(["top"], columns: columns)
    }

    private func expectRestored(_ top: TerminalProgram, at place: SourceLocation = #_sourceLocation) {
        #expect(top.isCooked, sourceLocation: place)
        #expect(!top.screen.isAlternate, sourceLocation: place)
        #expect(top.screen.showsCursor, sourceLocation: place)
    }

    @Test func `top shows executing operations and obeys keys`() throws {
        let machine = try Machine(workers: 1)
        let first = try machine.submit("--name", "building", "--", "sleep", "600")
        let second = try machine.submit("--name", "waiting", "--", "sleep", "600")
        try machine.await("started", of: first)
        let top = try top(machine)
        try top.until("both") { $0.contains("1 of 1 executing, 1 ready") && $0.contains("building") }
        #expect(top.screen.isAlternate && !top.screen.showsCursor && !top.isCooked)
        #expect(top.screen.lines.first { $0.contains("building") }?.contains("● executing") == true)
        top.type("jc")
        try top.until("the question") { $0.contains("cancel \(second) waiting? y or n") }
        top.type("y")
        try top.until("the end") { $0.contains("0 ready") && $0.contains("⊘ cancelled") }
        top.type("w")
        try top.until("a page") { $0.contains("press any key") && !$0.contains("1 of 1 executing") }
        top.type(" ")
        try top.until("the screen again") { $0.contains("1 of 1 executing") }
        top.type("q")
        #expect(try top.wait() == 0)
        expectRestored(top)
        #expect(try machine.outcome(second) == "cancelled")
    }

    @Test func `the keys are explained, and 60 columns are enough for the state`() throws {
        let machine = try Machine()
        let top = try top(machine, columns: 60)
        try top.until("the screen") { $0.contains("● running") && $0.contains("0 of 2 executing, 0 ready") }
        #expect(top.screen.lines.allSatisfy { $0.count <= 60 })
        top.type("?")
        try top.until("the keys") { $0.contains("cancel it, after a question") && $0.contains("press any key") }
        top.type(" ")
        try top.until("the screen again") { $0.contains("● running") }
        top.type("q")
        #expect(try top.wait() == 0)
        expectRestored(top)
    }

    @Test func `a filter and the failures show a part`() throws {
        let machine = try Machine()
        let broken = try machine.submit("--name", "broken", "--", "false")
        let waiting = try machine.submit("--hold", "--name", "compile", "--", "true")
        _ = try machine.submit("--hold", "--name", "link", "--", "true")
        _ = try machine.ctl("wait", "\(broken)")
        let top = try top(machine)
        try top.until("all") { $0.contains("compile") && $0.contains("link") && $0.contains("broken") }
        top.type("/COMP")
        try top.until("the filter") { $0.contains("compile") && !$0.contains("link") && $0.contains("/COMP_") }
        top.type("\rw")
        try top.until("its page") { $0.contains("press any key") && $0.contains("\(waiting)") }
        top.type(" ")
        try top.until("what is shown") { $0.contains("only with \"COMP\"") }
        top.type("/\u{7f}\u{7f}\u{7f}\u{7f}\r")
        try top.until("all again") { $0.contains("link") && $0.contains("q quit") }
        top.type("f")
        try top.until("the failures") { $0.contains("broken") && !$0.contains("compile") && $0.contains("failures") }
        top.type("f")
        try top.until("all once more") { $0.contains("compile") }
        top.type("q")
        #expect(try top.wait() == 0)
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP]) func `top restores the terminal after a signal`(_ signal: Int32) throws
    {
        let machine = try Machine()
        let top = try top(machine)
        try top.until("the screen") { $0.contains("0 of 2 executing") }
        kill(top.pid, signal)
        #expect(try top.wait() == 128 + signal)
        expectRestored(top)
    }

    @Test func `top continues after a restart of the daemon`() throws {
        let machine = try Machine()
        let top = try top(machine)
        try top.until("the screen") { $0.contains("0 of 2 executing") }
        try machine.killDaemon()
        try machine.start()
        _ = try machine.submit("--hold", "--name", "later", "--", "true")
        try top.until("the new daemon") { $0.contains("1 held") && $0.contains("later") }
        top.type("q")
        #expect(try top.wait() == 0)
        expectRestored(top)
    }

    @Test func `top follows the size of the terminal and the end of the daemon`() throws {
        let machine = try Machine()
        _ = try machine.submit("--hold", "--name", String(repeating: "long", count: 40), "--", "true")
        let top = try top(machine, columns: 120)
        try top.until("the screen") { $0.contains("long") && $0.contains("q quit") }
        top.resize(columns: 40, rows: 10)
        try top.until("a small screen") { $0.contains("q quit") && $0.contains("…") }
        #expect(top.screen.lines.allSatisfy { $0.count <= 40 })
        try machine.killDaemon()
        #expect(try top.wait() == 3)
        expectRestored(top)
    }

    @Test func `top refuses to run without a terminal`() throws {
        let machine = try Machine()
        let output = try machine.ctl("top")
        #expect(output.status == 2)
        #expect(output.err.contains("needs a terminal"))
    }
}

import Foundation
import Glibc
import PseudoTerminal
import TestSupport
import Testing

/// Several daemons as hosts `one` and `two`, with a script instead of ssh.
private final class Hosts {
    let one: Machine
    let two: Machine
    private let directory = TemporaryDirectory()
    let environment: [String: String]

    init() throws {
        one = try Machine()
        two = try Machine()
        let shim = directory.path + "/ssh"
        // Passes the words to a shell in the home directory, as sshd does.
        try """
        #!/bin/sh
        host=$1
        shift
        case $host in
        one) OPS_SOCKET=\(one.socket) ;;
        two) OPS_SOCKET=\(two.socket) ;;
        bare) exec sh -c "no-such-program $*" ;;
        silent) exec sleep 1000 ;;
        *) echo "ssh: cannot connect to $host" >&2; exit 255 ;;
        esac
        export OPS_SOCKET PATH=\(Machine.programs):$PATH
        cd / && exec sh -c "$*"
        """.write(toFile: shim, atomically: true, encoding: .utf8)
        // Read by sh and not executed directly, because other tests may start programs while the file is open for
        // writing.
        environment = Machine.environment.merging(["OPS_SSH": "sh \(shim)"]) { $1 }
    }

    func begin(_ arguments: [String], _ more: [String: String] = [:]) throws -> Command {
        try Command(
            Machine.programs + "/opsctl", arguments, environment: environment.merging(more) { $1 }, in: "/tmp")
    }

    func ctl(_ arguments: String...) throws -> Output { try begin(arguments).wait() }
}

@Suite struct HostTests {
    @Test func `a verb talks to the daemon of another host`() throws {
        let hosts = try Hosts()
        let submitted = try hosts.ctl("--host", "two", "submit", "--name", "there", "--", "pwd")
        #expect(submitted.out == "1\n" && submitted.status == 0)
        #expect(submitted.err.contains("on two: directory: ") && submitted.err.contains("environment: that of a login"))
        #expect(try hosts.ctl("--host", "two", "wait", "two:1").status == 0)
        #expect(try hosts.begin(["log", "there"], ["OPS_HOST": "two"]).wait().out == NSHomeDirectory() + "\n")
        #expect(try hosts.one.ok("ls", "--json", "--all").out.isEmpty)
        let run = ["--host", "two", "run", "--stdin", "/dev/null"]
        #expect(try hosts.begin(run + ["--", "sh", "-c", "echo $OPS_ID; exit 5"]).wait().status == 5)
        #expect(try hosts.begin(run + ["-C", "/usr", "--", "pwd"]).wait().out == "/usr\n")
    }

    @Test func `standard input is not passed on to another host`() throws {
        let hosts = try Hosts()
        let refused = try hosts.ctl("--host", "one", "run", "--", "cat")
        #expect(refused.status == 125)
        #expect(
            refused.err == "opsctl: run: standard input cannot be passed on to another host, give --stdin FILE, or add "
                + "< /dev/null\n")
        #expect(try hosts.one.ok("ls", "--json", "--all").out.isEmpty)
    }

    @Test func `nothing of this machine is captured for another`() throws {
        let hosts = try Hosts()
        let run = try hosts.begin(
            ["--host", "one", "run", "--stdin", "/dev/null", "--", "sh", "-c", "echo ${SECRET-none}"], ["SECRET": "x"])
        #expect(try run.wait().out == "none\n")
    }

    @Test func `lists of several hosts are merged`() throws {
        let hosts = try Hosts()
        for (machine, name) in [(hosts.one, "a"), (hosts.two, "b")] {
            try machine.ok("wait", "\(machine.submit("--name", name, "--", "true"))")
        }
        let table = try hosts.ctl("--host", "one,two", "ls")
        #expect(table.lines.count == 3)
        #expect(table.out.contains("one:1  a") && table.out.contains("two:1  b"))
        let rows = try hosts.ctl("--host", "one,two", "ls", "--json").objects
        #expect(Set(rows.compactMap { $0["host"] as? String }) == ["one", "two"])
        #expect(rows.allSatisfy { $0["id"] as? Int == 1 })
        #expect(try hosts.ctl("--host", "one,two", "ls", "two:1").lines.count == 2)
        #expect(try hosts.ctl("--host", "one,two", "ls", "--sort", "-name").lines[1].hasPrefix("two:1"))
        #expect(try hosts.ctl("--host", "one,two", "ls", "--", "-x").err.contains("no operation -x"))
        let status = try hosts.ctl("--host", "one,two", "status", "--json").objects
        #expect(status.count == 2 && status.allSatisfy { $0["workers"] as? Int == 2 })
        #expect(try hosts.ctl("--host", "one,two", "status").out.contains("two:\n● running"))
        let top = try hosts.begin(["--host", "one,two", "top", "--json"])
        try top.until { $0.contains("{\"host\":\"one\",\"status\"") && $0.contains("{\"host\":\"two\",\"status\"") }
        top.signal(SIGTERM)
        _ = try top.wait()
        #expect(try hosts.ctl("--host", "one,two", "show", "1").status == 2)
    }

    @Test func `the instants of a schedule are those of one host`() throws {
        let hosts = try Hosts()
        try hosts.two.ok("schedule", "add", "nightly", "--at", "0 3 * * *", "--", "true")
        #expect(try hosts.ctl("--host", "two", "schedule", "next", "nightly", "-n", "2", "--json").lines.count == 2)
        let refused = try hosts.ctl("--host", "two,one", "schedule", "next", "nightly")
        #expect(refused.status == 2 && refused.out.isEmpty && refused.err.contains("it takes one host"))
    }

    @Test func `verbs that need no daemon ignore the hosts`() throws {
        let hosts = try Hosts()
        #expect(try hosts.ctl("--host", "dead,gone", "schedule", "next", "--at", "@daily", "-n", "1").status == 0)
        #expect(try hosts.ctl("--host", "dead,gone", "schema").status == 0)
        let told = try hosts.ctl("--host", "dead,gone", "tell", "--status", "x")
        #expect(told.status == 5 && told.err.contains("not inside an operation"))
    }

    @Test func `operations of several hosts are waited for and watched together`() throws {
        let hosts = try Hosts()
        _ = try hosts.one.submit("--", "true")
        _ = try hosts.two.submit("--", "false")
        let waited = try hosts.ctl("--host", "one,two", "wait", "one:1", "two:1")
        #expect(waited.status == 1)
        #expect(waited.out.contains("two:1"))
        #expect(try hosts.ctl("--host", "one,two", "wait", "one:1").status == 0)
        let ends = try hosts.ctl("--host", "one,two", "wait", "--json", "1").objects
        #expect(Set(ends.compactMap { $0["host"] as? String }) == ["one", "two"])
        let watch = try hosts.begin(["--host", "one,two", "watch", "--since", "0", "--json"])
        try watch.until { text in
            ["one", "two"].allSatisfy { host in
                text.split(separator: "\n").contains {
                    $0.hasPrefix("{\"host\":\"\(host)\"") && $0.contains("\"finished\"")
                }
            }
        }
        watch.signal(SIGTERM)
        _ = try watch.wait()
    }

    @Test func `top of several hosts selects a whole line, and counts what is held`() throws {
        let hosts = try Hosts()
        _ = try hosts.one.submit("--hold", "--name", "still", "--", "true")
        let environment = hosts.environment.merging(["TERM": "xterm", "NO_COLOR": ""]) { $1 }
        let top = try TerminalProgram(
            Machine.programs + "/opsctl", ["--host", "one,two", "top"], environment: environment, columns: 100)
        try top.until("both") {
            $0.contains("one: running, 0 of 2 executing, 0 ready, 1 held, 0 pending") && $0.contains("two: running")
        }
        #expect(String(decoding: top.bytes, as: UTF8.self).contains("\u{1b}[7mone:1  still"))
        top.type("w")
        try top.until("its page") { $0.contains("press any key") && $0.contains("held until it is resumed") }
        top.type(" ")
        try top.until("the screen again") { $0.contains("q quit") }
        top.type("q")
        #expect(try top.wait() == 0)
    }

    @Test func `an operation that one of several hosts has is found there`() throws {
        let hosts = try Hosts()
        try hosts.two.ok("wait", "\(hosts.two.submit("--name", "rem", "--", "true"))")
        let bad = try hosts.two.submit("--name", "bad", "--", "sh", "-c", "exit 3")
        let listed = try hosts.ctl("--host", "one,two", "ls", "rem")
        #expect(listed.status == 0 && listed.out.contains("two:1"))
        #expect(listed.err.contains("opsctl: one: no operation rem") && !listed.err.contains("two"))
        #expect(try hosts.ctl("--host", "one,two", "wait", "rem").status == 0)
        #expect(try hosts.ctl("--host", "one,two", "wait", "--exit-code", "rem").status == 0)
        #expect(try hosts.ctl("--host", "one,two", "wait", "bad").status == 1)
        #expect(try hosts.ctl("--host", "one,two", "wait", "--exit-code", "\(bad)").status == 3)
        let none = try hosts.ctl("--host", "one,two", "ls", "nothing")
        #expect(none.status == 4)
        #expect(none.err.contains("one: no operation nothing") && none.err.contains("two: no operation nothing"))
        #expect(try hosts.ctl("--host", "one,two", "wait", "nothing").status == 4)
        #expect(try hosts.ctl("--host", "one,two", "wait", "--exit-code", "nothing").status == 125)
        #expect(try hosts.ctl("--host", "one,two", "ls", "one:rem", "two:rem").status == 4)
    }

    @Test func `a host that is not reached is reported and holds up nothing`() throws {
        let hosts = try Hosts()
        let some = try hosts.ctl("--host", "one,dead", "status")
        #expect(some.status == 1)
        #expect(some.out.contains("one:\n● running"))
        #expect(some.err.contains("opsctl: dead: the connection ended with status 255"))
        let none = try hosts.ctl("--host", "dead,gone", "ls")
        #expect(none.status == 3)
        #expect(none.err.contains("dead: ") && none.err.contains("gone: "))
        #expect(try hosts.ctl("--host", "bare", "ls").err.contains("this host has no opsctl"))
        let silent = try hosts.ctl("--host", "silent,one", "ls", "--json")
        #expect(silent.status == 1 && silent.err.contains("silent: no answer within 10 s"))
        try hosts.two.killDaemon()
        let ended = try hosts.ctl("--host", "two", "ls")
        #expect(ended.status == 3 && ended.err.contains("two: no daemon answers on this host"))
    }

    @Test func `names that ssh would take for options are refused`() throws {
        let hosts = try Hosts()
        for name in ["-oProxyCommand=true", "", "one,,two", "a b"] {
            #expect(try hosts.ctl("--host", name, "ls").status == 2, "\(name)")
        }
    }

    @Test func `names of another host complete`() throws {
        let hosts = try Hosts()
        _ = try hosts.two.submit("--name", "distant", "--", "true")
        #expect(try hosts.ctl("__complete", "--", "--host", "two", "show", "di").out == "distant\n")
        #expect(try hosts.ctl("__complete", "--", "show", "--ho").out.hasPrefix("--host"))
    }
}

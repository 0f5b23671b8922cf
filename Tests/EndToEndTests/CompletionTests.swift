import Foundation
import Testing

@Suite struct CompletionTests {
    private func words(_ machine: Machine, _ typed: String...) throws -> [String] {
        try machine.begin(["__complete", "--"] + typed).wait().lines.map {
            String($0.split(separator: "\t").first ?? "")
        }
    }

    @Test func `completion offers the names that the daemon knows`() throws {
        let machine = try Machine()
        _ = try machine.graph(#"{"name": "nightly", "operations": [{"name": "backup", "command": ["true"]}]}"#)
        try machine.ok("queue", "add", "slow")
        try machine.ok("category", "set", "disk", "--capacity", "2")
        #expect(try words(machine, "sub") == ["submit"])
        #expect(try words(machine, "show", "bac") == ["backup"])
        #expect(try words(machine, "graph", "ni") == ["nightly"])
        #expect(try words(machine, "submit", "--queue", "sl") == ["slow"])
        #expect(try words(machine, "submit", "--category", "di") == ["disk"])
        #expect(try words(machine, "ls", "--state", "exe") == ["executing"])
    }

    @Test func `completion offers files after the first word of a command`() throws {
        let machine = try Machine()
        #expect(try words(machine, "submit", "--hold", "make", "--co") == [":files"])
        #expect(try words(machine, "submit", "make", "--queue=ma") == [":files"])
        #expect(try words(machine, "schedule", "add", "nightly", "make", "--co") == [":files"])
        #expect(try words(machine, "set", "1", "--command", "make", "--co") == [":files"])
        #expect(try words(machine, "schedule", "add", "nightly", "--queu") == ["--queue"])
    }

    @Test func `the completion script works in bash`() throws {
        let machine = try Machine()
        _ = try machine.submit("--name", "build:all", "--", "true")
        try machine.ok("queue", "add", "night")
        let script = """
            source <(opsctl completion bash)
            candidates() {
                COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
                _opsctl
                printf '%s\\n' "${COMPREPLY[@]}"
            }
            candidates 'opsctl show bui' opsctl show bui
            candidates 'opsctl show build:' opsctl show build :
            candidates 'opsctl submit --queue=ni' opsctl submit --queue = ni
            candidates 'opsctl submit --queue ni' opsctl submit --queue ni
            """
        var environment = Machine.environment
        environment["OPS_SOCKET"] = machine.socket
        environment["PATH"] = Machine.programs + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
        let output = try Command("/bin/bash", ["-c", script], environment: environment, in: "/").wait()
        #expect(output.lines == ["build:all", "all", "night", "night"], "\(output.err)")
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func `every supported shell has a completion script`(_ shell: String)
        throws
    {
        let machine = try Machine(start: false)
        #expect(try machine.ok("completion", shell).out.contains("__complete --"))
        #expect(try machine.ctl("completion", "tcsh").status == 2)
        try machine.start()
    }
}

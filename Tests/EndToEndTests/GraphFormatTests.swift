import Foundation
import Testing

/// Graph files in YAML, and JSON with comments, through opsctl.
@Suite struct GraphFormatTests {
    @Test func `a YAML file is submitted with gaps filled`() throws {
        let machine = try Machine()
        let file = machine.state + "/graph.yaml"
        try """
        name: example
        defaults: &shared
          timeout: 10m
        operations:
          - name: first
            shell: |
              echo "${GREETING}"
              echo 22:00
          - {name: second, command: [echo, on], after: [first]}
        """.write(toFile: file, atomically: true, encoding: .utf8)
        try machine.ok("submit", "-f", file, "--set", "GREETING=a: b\nc")
        try machine.ok("wait", "second")
        #expect(try machine.ok("log", "first").out == "a: b\nc\n22:00\n")
        #expect(try machine.ok("log", "second").out == "on\n")
    }

    @Test func `problems of a YAML file name line and column`() throws {
        let machine = try Machine()
        let file = machine.state + "/graph.yml"
        try """
        operations:
          - name: a
            command: ["true"]
            timeout: [1]
          - name: b
            queue: nowhere
            command: [sleep, 1]
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let refused = try machine.ctl("submit", "-f", file)
        #expect(refused.status == 5)
        #expect(refused.err.contains("graph.yml:4:5: operation a, key timeout: "), "\(refused.err)")
        #expect(refused.err.contains("graph.yml:7:22: operation b, key command[1]: "), "\(refused.err)")
    }

    @Test func `JSON may have comments and trailing commas`() throws {
        let machine = try Machine()
        let text = """
            // A graph.
            {"operations": [ /* one */
              {"name": "c", "command": ["echo", "a // b /* c */", ",]",],},
            ]}
            """
        let stored = try machine.begin(["submit", "-f", "-"], input: text).wait()
        #expect(stored.status == 0, "\(stored.err)")
        try machine.ok("wait", "c")
        #expect(try machine.ok("log", "c").out == "a // b /* c */ ,]\n")
    }

    @Test func `another ending is refused with the endings that are expected`() throws {
        let machine = try Machine()
        let file = machine.state + "/graph.toml"
        try "name = \"x\"\n".write(toFile: file, atomically: true, encoding: .utf8)
        let refused = try machine.ctl("submit", "-f", file)
        #expect(refused.status == 5)
        #expect(refused.err.contains(".json, .jsonl, .yaml or .yml"), "\(refused.err)")
    }
}

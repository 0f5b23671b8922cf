import Foundation
import Testing

@Suite struct OutputsTests {
    @Test func `dependents find what an operation has left`() throws {
        let machine = try Machine()
        let make = try machine.submit(
            "--name", "make-it", "--shell", "cd $OPS_OUTPUT_DIR; echo 42 > answer; touch .x")
        let none = try machine.submit("--name", "none", "--shell", "test -d $OPS_OUTPUT_DIR && ls -A $OPS_OUTPUT_DIR")
        let use = try machine.submit(
            "--after", "make-it", "--after", "none", "--shell",
            "cat $OPS_OUTPUTS_MAKE_IT/answer; echo ${OPS_OUTPUTS_NONE:-nothing}; ls -A $OPS_OUTPUT_DIR")
        #expect(try machine.ctl("wait", "\(make)", "\(none)", "\(use)", "--timeout", "20s").status == 0)
        #expect(try machine.ok("log", "\(use)").out == "42\nnothing\n")
        #expect(try machine.ok("log", "\(none)").out.isEmpty)
        let path = try machine.ok("outputs", "\(make)").out.dropLast()
        #expect(try String(contentsOfFile: path + "/answer", encoding: .utf8) == "42\n")
        let row = try machine.ok("outputs", "make-it", "--json").object
        #expect(row["path"] as? String == String(path) && row["id"] as? Int == make && row["attempt"] as? Int == 1)
        #expect(try machine.ctl("outputs", "\(none)").status == 4)
        #expect(try machine.ctl("outputs", "\(make)", "--attempt", "2").status == 4)
    }

    @Test func `each attempt has an empty directory, and a running one can be asked for`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let id = try machine.submit(
            "--retry", "1", "--retry-backoff", "0", "--shell",
            "ls -A $OPS_OUTPUT_DIR; echo $OPS_ATTEMPT > $OPS_OUTPUT_DIR/n; [ $OPS_ATTEMPT = 2 ] && read x < \(gate.path)"
        )
        try waitUntil { try machine.show(id)["attempt"] as? Int == 2 }
        let second = try machine.ok("outputs", "\(id)").out.dropLast()
        try waitUntil { FileManager.default.fileExists(atPath: second + "/n") }
        gate.open()
        _ = try machine.ctl("wait", "\(id)", "--timeout", "20s")
        #expect(try machine.ok("outputs", "\(id)").out.dropLast() == second)
        let first = try machine.ok("outputs", "\(id)", "--attempt", "1").out.dropLast()
        #expect(try String(contentsOfFile: first + "/n", encoding: .utf8) == "1\n")
        #expect(try machine.ok("log", "\(id)", "--attempt", "1").out.isEmpty)
        #expect(try machine.ok("log", "\(id)", "--attempt", "2").out.isEmpty)
    }

    @Test func `outputs says why an operation has no attempt`() throws {
        let machine = try Machine()
        _ = try machine.graph(
            """
            {"operations": [{"name": "group", "operations": [{"command": ["true"]}]},
              {"name": "current", "command": ["true"],
                "conditions": [{"pathExists": "/nonexistent", "otherwise": "succeed"}]}]}
            """)
        #expect(try machine.ctl("wait", "--all", "--timeout", "20s").status == 0)
        let held = try machine.submit("--hold", "--", "true")
        for (operation, reason) in [
            ("group", "it is a group"), ("current", "it has finished without an attempt"),
            ("\(held)", "it has not started"),
        ] {
            let refused = try machine.ctl("outputs", operation)
            #expect(refused.status == 4 && refused.err.contains(reason), "\(refused.err)")
        }
        #expect(try machine.ctl("outputs", "current", "--attempt", "0").err.contains("it has no attempt 0"))
    }

    @Test func `a copy with all attributes stays, and no later attempt gets its directory`() throws {
        let machine = try Machine()
        let source = machine.state + "/source"
        let copy = try machine.submit(
            "--shell",
            "mkdir \(source) && touch \(source)/f && touch -d @1 \(source) && cp -a \(source)/. $OPS_OUTPUT_DIR")
        #expect(try machine.ctl("wait", "\(copy)", "--timeout", "20s").status == 0)
        let closed = try machine.submit("--shell", "ls -A $OPS_OUTPUT_DIR; chmod 0 $OPS_OUTPUT_DIR")
        #expect(try machine.ctl("wait", "\(closed)", "--timeout", "20s").status == 0)
        let next = try machine.submit("--shell", "ls -A $OPS_OUTPUT_DIR; stat -c %a $OPS_OUTPUT_DIR")
        #expect(try machine.ctl("wait", "\(next)", "--timeout", "20s").status == 0)
        let path = try machine.ok("outputs", "\(copy)").out.dropLast()
        #expect(FileManager.default.fileExists(atPath: path + "/f"))
        #expect(try machine.ok("log", "\(closed)").out.isEmpty)
        #expect(try machine.ok("log", "\(next)").out == "700\n")
    }

    @Test func `outputs are removed with their operation, however deep, and links are not followed`() throws {
        let machine = try Machine()
        let kept = machine.state + "/kept"
        try "x".write(toFile: kept, atomically: true, encoding: .utf8)
        let id = try machine.submit(
            "--shell",
            "cd $OPS_OUTPUT_DIR; ln -s \(machine.state) link; for i in $(seq 150); do mkdir d; touch f; cd d; done; touch deep"
        )
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "20s").status == 0)
        let path = try machine.ok("outputs", "\(id)").out.dropLast()
        #expect(FileManager.default.fileExists(atPath: path + "/link/kept"))
        try machine.ok("prune", "\(id)")
        try waitUntil("\(path) is still there") { !FileManager.default.fileExists(atPath: String(path)) }
        #expect(FileManager.default.fileExists(atPath: kept))
    }
}

import Glibc
import Testing

@Suite struct LogTests {
    @Test func bothStreamsInOrderAndTheLastLines() throws {
        let machine = try Machine()
        let id = try machine.submit("--shell", "echo 1; echo 2 >&2; echo 3")
        _ = try machine.ctl("wait", "\(id)")
        #expect(try machine.ok("log", "\(id)").out == "1\n2\n3\n")
        #expect(try machine.ok("log", "\(id)", "-n", "2").out == "2\n3\n")
        #expect(try machine.ctl("log", "99").status == 4)
    }

    @Test func followingEndsWithTheOperation() throws {
        let machine = try Machine()
        mkfifo(machine.state + "/gate", 0o600)
        let id = try machine.submit("--shell", "echo before; read x < \(machine.state)/gate; echo after")
        let log = try machine.begin(["log", "-f", "\(id)"])
        try machine.await("started", of: id)
        let gate = open(machine.state + "/gate", O_WRONLY | O_CLOEXEC)
        write(gate, "go\n", 3)
        close(gate)
        let output = try log.wait(seconds: 20)
        #expect(output.out == "before\nafter\n")
        #expect(output.status == 0)
    }
}

import Foundation
import Glibc
import Testing

/// Messages that operations send while opsd is away, if the operations end before it is back.
@Suite struct LastWordTests {
    /// Reason why opsd does not read the message: it is dead, or it is killed before it reads.
    enum Absence: CaseIterable { case dead, deaf }

    private func leave(_ machine: Machine, _ absence: Absence) throws {
        if absence == .deaf { machine.daemon?.signal(SIGSTOP) } else { try machine.killDaemon() }
    }

    /// Lets the operation end, and waits until the runner has noticed that.
    private func end(_ gate: Gate, _ machine: Machine) throws {
        let pid = try #require(
            Int32(String(contentsOfFile: machine.state + "/pid", encoding: .utf8).dropLast()))
        gate.open()
        try waitUntil("the operation does not end") { kill(pid, 0) != 0 }
    }

    /// Returns a script that sends a message, with `said` as the arguments of `systemd-notify`.
    private func script(_ machine: Machine, _ gate: Gate, _ said: String) -> String {
        "echo $$ > \(machine.state)/pid; echo begun; read x < \(gate.path); systemd-notify \(said)"
    }

    private func begun(_ machine: Machine, _ id: Int) throws {
        try machine.await("started", of: id)
        try waitUntil("the operation does not begin") { try machine.ok("log", "\(id)").out == "begun\n" }
    }

    @Test(arguments: Absence.allCases)
    func `a result sent during an outage reaches dependents`(absence: Absence) throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let speaker = try machine.submit(
            "--name", "speaker", "--shell", script(machine, gate, "X_OPS_RESULT=answer STATUS=done"))
        let dependent = try machine.submit("--after", "speaker", "--shell", "echo $OPS_RESULT_SPEAKER")
        try begun(machine, speaker)
        try leave(machine, absence)
        try end(gate, machine)
        try machine.killDaemon()
        try machine.start()
        #expect(try machine.ctl("wait", "\(dependent)", "--timeout", "30s").status == 0)
        #expect(try machine.ok("log", "\(dependent)").out == "answer\n")
        #expect(try machine.show(speaker)["statusText"] as? String == "done")
    }

    @Test(arguments: Absence.allCases)
    func `a reported success counts although nobody was there to receive it`(absence: Absence) throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let id = try machine.submit("--completion", "notify", "--shell", script(machine, gate, "X_OPS_FINISHED=0"))
        try begun(machine, id)
        try leave(machine, absence)
        try end(gate, machine)
        try machine.killDaemon()
        try machine.start()
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        #expect(try machine.outcome(id) == "succeeded")
    }
}

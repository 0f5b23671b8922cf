import Foundation
import Testing

@Suite struct NoteTests {
    @Test func `a note stays with its operation in every state`() throws {
        let machine = try Machine()
        let waiting = try machine.submit("--hold", "--", "true")
        let finished = try machine.submit("--", "true")
        try machine.ok("wait", "\(finished)")
        for id in [waiting, finished] {
            #expect(try machine.show(id)["note"] is NSNull)
            try machine.ok("note", "\(id)", "ask Ann\nbefore")
            #expect(try machine.show(id)["note"] as? String == "ask Ann\nbefore")
            try machine.ok("note", "\(id)", "ask Bob – 日本語")
        }
        try machine.killDaemon()
        try machine.start()
        for id in [waiting, finished] {
            #expect(try machine.show(id)["note"] as? String == "ask Bob – 日本語")
            #expect(try machine.ok("show", "\(id)").out.contains("note  ask Bob – 日本語\n"))
            try machine.ok("note", "\(id)", "")
            #expect(try machine.show(id)["note"] is NSNull)
            #expect(!(try machine.ok("show", "\(id)").out.contains("note")))
        }
        let rows = try machine.ok("ls", "--json").objects
        #expect(rows.allSatisfy { $0.keys.contains("note") })
    }

    @Test func `a note is reported as an edit`() throws {
        let machine = try Machine()
        let id = try machine.submit("--hold", "--", "true")
        try machine.ok("note", "\(id)", "once")
        try machine.await("edited", of: id)
    }

    @Test func `note refuses a text that is too long and an unknown operation`() throws {
        let machine = try Machine()
        let id = try machine.submit("--hold", "--", "true")
        try machine.ok("note", "\(id)", String(repeating: "x", count: 4096))
        let tooLong = try machine.ctl("note", "\(id)", String(repeating: "x", count: 4097))
        #expect(tooLong.status == 5)
        #expect(tooLong.err == "opsctl: note: a note is too large (limit 4096), make it smaller\n")
        #expect(try machine.ctl("note", "77", "text").status == 4)
        #expect(try machine.ctl("note", "\(id)").status == 2)
        #expect(try machine.ctl("note", "\(id)", "two", "words").status == 2)
    }
}

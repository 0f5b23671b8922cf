import Foundation
import Glibc
import OpsWire
import Testing

@testable import opsctl

/// Schedules that the lines of a crontab become.
@Suite struct ScheduleImportTests {
    /// Returns the accounts of a user database with several lines. Its last account is that of this process.
    private func accounts() throws -> Accounts {
        let path = NSTemporaryDirectory() + "/opsd-passwd-" + String(UInt32.random(in: 0 ... .max), radix: 36)
        defer { unlink(path) }
        let text = """
            first:x:\(getuid() + 1):1::/home/first:/bin/bash
            +nis
            me:x:\(getuid()):2:Ada,,,:/home/ada:/bin/zsh

            """
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return Accounts(path: path)
    }

    private func requests(_ text: String, hasUsers: Bool = false) throws -> [AddScheduleRequest] {
        let known = try accounts()
        let crontab = Crontab(Array(text.utf8), hasUsers: hasUsers, isAccount: { known.named($0) != nil })
        return zip(crontab.lines, crontab.names).map { ScheduleImport.request($0, $1, known) }
    }

    private func operation(_ request: AddScheduleRequest) throws -> [String: Any] {
        let parsed = try JSONSerialization.jsonObject(with: Data(request.operations.bytes))
        return try #require((parsed as? [[String: Any]])?.first)
    }

    @Test func `all lines of the user database are accounts`() throws {
        let known = try accounts()
        #expect(known.own?.name == "me" && known.named("me")?.home == "/home/ada")
        #expect(known.named("first")?.uid == getuid() + 1)
        #expect(known.named("+nis") == nil)
    }

    @Test func `a job runs in the home directory of its account, with the name of the user`() throws {
        let own = try #require(try requests("@daily job").first?.capture)
        #expect(own.directory == "/home/ada" && own.environment["HOME"] == "/home/ada")
        #expect(own.environment["LOGNAME"] == "me" && own.environment["USER"] == "me")
        let other = try #require(try requests("@daily first job", hasUsers: true).first?.capture)
        #expect(other.directory == "/home/first" && other.environment["LOGNAME"] == "first")
    }

    @Test func `variables of the crontab override the login variables of another user`() throws {
        let text = """
            SHELL=/bin/bash
            HOME=/srv
            LOGNAME=wrong
            COLOUR=green ${scheduled}
            OPS_SOCKET=/run/socket
            @daily first job
            @daily me job
            """
        let found = try requests(text, hasUsers: true)
        let variables = ["SHELL": "/bin/bash", "HOME": "/srv", "COLOUR": "green $${scheduled}"]
        #expect(try found.map { try operation($0)["user"] as? String } == ["first", nil])
        for request in found {
            #expect(try operation(request)["environment"] as? [String: String] == variables)
            #expect(request.capture?.directory == "/srv")
        }
    }

    @Test func `a job of another user has the shell of cron, and other variables of the login`() throws {
        let found = try requests("@daily first job\n@daily me job\n", hasUsers: true)
        #expect(try operation(found[0])["environment"] as? [String: String] == ["SHELL": "/bin/sh"])
        #expect(try operation(found[1])["environment"] == nil)
    }

    @Test func `a schedule changes with the values of the variables, and not with their order`() throws {
        let texts = ["A=1\nB=2\n", "B=2\nA=1\n", "A=1\nB=3\n"]
        let found = try texts.map { try #require(try requests($0 + "@daily job\n").first).operations.bytes }
        #expect(found[0] == found[1] && found[0] != found[2])
    }
}

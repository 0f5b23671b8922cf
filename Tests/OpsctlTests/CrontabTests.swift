import Testing

@testable import opsctl

@Suite struct CrontabTests {
    private func lines(_ text: String, hasUsers: Bool? = nil) -> [Crontab.Line] {
        Crontab(Array(text.utf8), hasUsers: hasUsers, isAccount: { ["root", "backup", "news"].contains($0) }).lines
    }

    @Test func `comments and settings are no jobs, and settings count for the lines below them`() throws {
        let found = lines(
            """
            # m h dom mon dow command

            SHELL=/bin/bash
            0 3 * * * first
             PATH = "/opt/bin:/usr/bin"\t
            CRON_TZ='Europe/Berlin'
            \t*/5 1-3 * jan,feb mon-fri  /usr/bin/second  --now
            """)
        #expect(found.map(\.expression) == ["0 3 * * *", "*/5 1-3 * jan,feb mon-fri"])
        #expect(found.map(\.command) == ["first", "/usr/bin/second  --now"])
        #expect(found.map(\.number) == [4, 7])
        #expect(found[0].variable("SHELL") == "/bin/bash")
        #expect(found[0].variable("PATH") == nil)
        #expect(found[1].variable("PATH") == "/opt/bin:/usr/bin")
        #expect(found[1].variable("CRON_TZ") == "Europe/Berlin")
        #expect(found[1].name == "second")
    }

    @Test func `lines may end with a carriage return and a line feed`() throws {
        let found = lines("# old\r\nPATH=/opt\r\n\r\n0 3 * * * first\r\n@daily second -a\r\n")
        #expect(found.map(\.number) == [4, 5])
        #expect(found.map(\.command) == ["first", "second -a"])
        #expect(found.map(\.problem) == [nil, nil])
        #expect(found.last?.variable("PATH") == "/opt")
    }

    @Test(arguments: [
        ("0 3 * * * date +\\%F", "date +%F"), ("0 3 * * * echo a\\b", "echo a\\b"),
        ("0 3 * * * mail bob%Hello%it's me", "printf '%s\\n' 'Hello' 'it'\\''s me' | { mail bob\n}"),
        ("0 3 * * * cat%x'\u{301}; touch y", "printf '%s\\n' 'x'\\''\u{301}; touch y' | { cat\n}"),
        ("0 3 * * * cat%\u{301}x", "printf '%s\\n' '\u{301}x' | { cat\n}"),
        // A newline follows the input only if it does not end with one.
        ("0 3 * * * cat > f%", "cat > f"), ("0 3 * * * cat > f%a%", "printf '%s\\n' 'a' | { cat > f\n}"),
        ("0 3 * * * cat%%", "printf '%s\\n' '' | { cat\n}"), ("0 3 * * * cat%%a", "printf '%s\\n' '' 'a' | { cat\n}"),
    ])
    func `a percent sign ends the command and begins its input`(line: String, shell: String) throws {
        #expect(try #require(lines(line).first).shell == shell)
    }

    @Test func `jobs that are not UTF-8 are refused, and so are jobs below such a variable`() {
        let text = "# über\n0 3 * * * echo ü\nA=ü\n0 4 * * * b\nA=1\n0 5 * * * c\n"
        // In Latin-1, each character is one byte.
        let bytes = text.unicodeScalars.map { UInt8($0.value) }
        let found = Crontab(bytes, hasUsers: false, isAccount: { _ in false }).lines
        #expect(
            found.map(\.problem) == [
                "it is not UTF-8, and JSON can contain only UTF-8",
                "the value of A is not UTF-8, and JSON can contain only UTF-8", nil,
            ])
        #expect(lines(text).allSatisfy { $0.problem == nil })
    }

    @Test func `the user column is known by its accounts`() throws {
        let system = lines("17 * * * * root cd / && run-parts /etc/cron.hourly\n@daily backup /bin/save all\n")
        #expect(system.map(\.user) == ["root", "backup"])
        #expect(system.map(\.command) == ["cd / && run-parts /etc/cron.hourly", "/bin/save all"])
        #expect(system.map(\.name) == ["run-parts", "save"])
        // A command that has the same name as an account.
        #expect(lines("0 3 * * * backup /home\n0 4 * * * news fetch\n").allSatisfy { $0.user == nil })
        #expect(lines("0 3 * * * backup /home\n", hasUsers: true).map(\.user) == ["backup"])
    }

    @Test(arguments: ["0 3 * *", "0 3 * * *", "@daily", "0 3 * * * "])
    func `a line without a command has a problem`(line: String) throws {
        #expect(try #require(lines(line).first).problem != nil)
    }

    @Test(arguments: [
        ("0 3 * * * FOO=1 /opt/x/job.sh -a", "job.sh"), ("0 3 * * * 7", "cron-7"), ("0 3 * * * $HOME/ü", "cron-1"),
        ("0 3 * * * test -x /usr/sbin/anacron || run", "run"), ("@reboot (sleep 1; x)", "sleep"),
    ])
    func `a schedule has the name of its program`(line: String, name: String) throws {
        #expect(try #require(lines(line).first).name == name)
    }
    @Test(arguments: [
        (["a", "a", "a-2"], ["a", "a-2", "a-2-2"]), (["a-2", "a", "a", "a"], ["a-2", "a", "a-3", "a-4"]),
        (["a", "b", "a"], ["a", "b", "a-2"]),
    ])
    func `each line gives its schedule a name of its own`(programs: [String], names: [String]) {
        let text = programs.map { "@daily \($0)\n" }.joined()
        #expect(Crontab(Array(text.utf8), hasUsers: false, isAccount: { _ in false }).names == names)
    }
}

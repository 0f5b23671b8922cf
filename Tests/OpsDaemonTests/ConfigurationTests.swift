import OpsSystem
import Testing

@testable import OpsDaemon

@Suite struct ConfigurationTests {
    private func configuration() -> Configuration { Configuration(state: "/var/lib/opsd", socket: "/run/opsd/s") }

    @Test func `a configuration file sets the options that it names`() throws {
        var configuration = configuration()
        try configuration.apply(
            """
            # a comment
            ; another
            workers = 7
            [opsd]
            on-stop=drain
              log-level = debug
            keep-for = 30d
            log-limit = 1M
            """, from: "opsd.conf")
        #expect(configuration.workers == 7)
        #expect(configuration.onStop == .drain)
        #expect(configuration.logLevel == .debug)
        #expect(configuration.keepFor == .days(30))
        #expect(configuration.logLimit == 1 << 20)
        #expect(configuration.socket == "/run/opsd/s")
    }

    @Test func `later configuration files override earlier ones`() throws {
        var configuration = configuration()
        try configuration.apply("workers = 1\nkeep-at-most = 5", from: "opsd.conf")
        try configuration.apply("workers = 2\nkeep-at-most = all", from: "10.conf")
        #expect(configuration.workers == 2)
        #expect(configuration.keepAtMost == nil)
    }

    @Test(arguments: [
        ("workers = many", "opsd.conf:1"), ("\nworkerz = 3", "opsd.conf:2"), ("[pool]\nworkers = 3", "opsd.conf:1"),
        ("[opsd\nworkers = 3", "opsd.conf:1"), ("nonsense", "opsd.conf:1"), ("state = here", "opsd.conf:1"),
        ("workers = 4097", "opsd.conf:1"), ("on-stop = explode", "opsd.conf:1"), ("log-limit = 1", "opsd.conf:1"),
        ("group = no such group", "opsd.conf:1"), ("[executor A]", "opsd.conf:1"),
    ])
    func `a mistake in a configuration file is reported with its line`(text: String, place: String) throws {
        var configuration = configuration()
        let error = #expect(throws: ConfigurationError.self) { try configuration.apply(text, from: "opsd.conf") }
        #expect(error?.place == place)
    }

    @Test(arguments: [
        (
            "connections = 99999999999999",
            "connections: must be a number from 4 to 1099511627776, not \"99999999999999\""
        ),
        ("log-limit = 1", "log-limit: must be a size from 4K to 1024P such as 256M, not \"1\""),
    ])
    func `a number or size beyond its range is refused with the range`(text: String, message: String) throws {
        var configuration = configuration()
        let error = #expect(throws: ConfigurationError.self) { try configuration.apply(text, from: "opsd.conf") }
        #expect(error?.message == message)
    }

    @Test func `lines may end with a carriage return`() throws {
        var configuration = configuration()
        try configuration.apply("[opsd]\r\nworkers = 7\r\nlog-level = debug\r", from: "opsd.conf")
        #expect(configuration.workers == 7 && configuration.logLevel == .debug)
    }

    @Test func `a section of an executor counts even if it sets nothing`() throws {
        var configuration = configuration()
        try configuration.apply("[executor far]\n[opsd]\nworkers = 7", from: "opsd.conf")
        #expect(configuration.executors == [ExecutorConfiguration(name: "far")])
        #expect(configuration.workers == 7)
    }

    @Test(arguments: ["per-host = 7\nperHost = 2", "perHost = 7\nper-host = 2"])
    func `an option of executors with two spellings has the later value`(settings: String) throws {
        var configuration = configuration()
        try configuration.apply("[executor transfer]\nkind = transfer\n\(settings)", from: "opsd.conf")
        #expect(configuration.executor("transfer")?.perHost == 2)
        #expect(configuration.text.contains("per-host = 2\n"))
    }

    @Test func `the command line takes values after a space and after an equals sign`() throws {
        let options = try CommandLineOptions(["--workers", "3", "--socket=/tmp/x", "--config", "/etc/o.conf"])
        #expect(options.settings.map(\.key) == ["workers", "socket"])
        #expect(options.settings.map(\.value) == ["3", "/tmp/x"])
        #expect(options.file == "/etc/o.conf")
        #expect(try CommandLineOptions(["--help"]).wantsHelp)
        #expect(try CommandLineOptions(["--version"]).wantsVersion)
    }

    @Test(arguments: [["--nonsense"], ["stray"], ["--workers"], ["-x"]])
    func `unknown and incomplete options are refused`(words: [String]) {
        #expect(throws: CommandLineOptions.Misuse.self) { try CommandLineOptions(words) }
    }

    private func page(_ path: String) throws -> String {
        let top = "\(#filePath)".split(separator: "/").dropLast(3).joined(separator: "/")
        return String(decoding: try Files.read("/\(top)/\(path)", limit: 1 << 20), as: UTF8.self)
    }

    @Test func `every option is in the help and in the manual`() throws {
        let daemon = try page("docs/man/opsd.8").replacing("\\-", with: "-")
        let file = try page("docs/man/opsd.conf.5").replacing(" , ", with: "\n.It Cm ")
        for key in Configuration.keys {
            #expect(CommandLineOptions.help.contains("--\(key) "))
            #expect(daemon.contains(" --\(key)"), "opsd.8: \(key)")
            #expect(file.contains(".It Cm \(key)\n"), "opsd.conf.5: \(key)")
        }
    }

    /// The example contains the default of each option, except where the default depends on the machine.
    @Test func `the example configuration names every option with its default`() throws {
        let settings = try page("systemd/opsd.conf").split(separator: "\n").filter {
            $0.wholeMatch(of: /#[a-z-]+ =.*/) != nil
        }
        #expect(settings.map { String($0.dropFirst().prefix { $0 != " " }) } == Configuration.keys)
        var example = configuration()
        try example.apply(settings.map { String($0.dropFirst()) }.joined(separator: "\n"), from: "opsd.conf")
        example.workers = nil
        example.runner = ""
        #expect(example == Configuration(state: "/var/lib/opsd", socket: "/run/opsd/control.sock"))
    }
}

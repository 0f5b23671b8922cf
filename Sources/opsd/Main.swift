internal import OpsDaemon

/// opsd: the daemon. See `Daemon` for what it does.
@main struct Main {
    static func main() {
        do {
            let options = try CommandLineOptions(Array(CommandLine.arguments.dropFirst()))
            if options.wantsHelp { return Console.write(CommandLineOptions.help) }
            if options.wantsVersion { return Console.write("opsd \(Version.text)\n") }
            Console.exit(try Daemon.run(options))
        } catch let misuse as CommandLineOptions.Misuse {
            Console.fail("\(misuse)", status: 2)
        } catch {
            Daemon.refuse(error)
        }
    }
}

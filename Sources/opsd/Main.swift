internal import OpsDaemon
internal import OpsSystem

/// opsd: the daemon. See `Daemon` for what it does.
@main struct Main {
    static func main() {
        do {
            let options = try CommandLineOptions(Array(CommandLine.arguments.dropFirst()))
            if options.wantsHelp { return Program.writeOutput(CommandLineOptions.help) }
            if options.wantsVersion { return Program.writeOutput("opsd \(Release.current.text)\n") }
            if options.wantsCheck { return Program.writeOutput(try Daemon.settings(options)) }
            try Daemon.run(options)
        } catch let misuse as CommandLineOptions.Misuse {
            Program.writeError("opsd: \(misuse)")
            Program.exit(status: 2)
        } catch {
            Daemon.refuse(error)
        }
    }
}

internal import OpsSystem
internal import OpsSystemd

/// The executor of kind `slurm`; see `SlurmExecutor`.
@main struct Main {
    static func main() {
        Program.exit(status: run())
    }

    private static func run() -> Int32 {
        guard let options = CommandLineOptions(arguments: Array(CommandLine.arguments.dropFirst())) else {
            Program.writeError("usage: opsd-slurm --state DIR [--name NAME] [--config FILE]")
            return 2
        }
        do throws(SystemError) {
            return try serve(options)
        } catch {
            Program.writeError("opsd-slurm: \(error)")
            Program.detached(status: 1)
            return 1
        }
    }

    private static func serve(_ options: CommandLineOptions) throws(SystemError) -> Int32 {
        try Program.ensureStandardStreams()
        try Files.makePrivateDirectory(options.state)
        // A service manager follows the process that it has started.
        let isService = Environment["NOTIFY_SOCKET"] != nil
        if !isService {
            try Program.detach()
            try Program.redirectStandardStreams(log: "\(options.state)/executor-\(options.name).log")
        }
        try Signals.ignore(Signals.pipe)
        try Signals.ignore(Signals.fileSize)
        try Signals.ignore(Signals.hangUp)
        guard let executor = try SlurmExecutor.start(options, isService: isService) else {
            Program.writeError("opsd-slurm: another process serves executor \(options.name) of \(options.state)")
            // To the opsd that started this one, an executor is there: that is all that was wanted.
            Program.detached(status: 0)
            return isService ? 1 : 0
        }
        Program.detached(status: 0)
        try Service.notify("READY=1")
        try executor.run()
        return executor.exitStatus
    }
}

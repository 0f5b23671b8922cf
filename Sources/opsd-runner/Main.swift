internal import OpsRunner
internal import OpsSystem
internal import OpsSystemd

/// The parent of every operation; see `Runner`.
@main struct Main {
    static func main() {
        Program.exit(status: run())
    }

    private static func run() -> Int32 {
        let options: RunnerOptions
        do throws(UsageError) {
            options = try RunnerOptions(arguments: Array(CommandLine.arguments.dropFirst()))
        } catch {
            Program.writeError("opsd-runner: \(error)")
            Program.writeError(
                "usage: opsd-runner --state DIR [--detach] [--no-cgroup] [--delegated] [--idle-limit SECONDS]")
            return 2
        }
        do throws(SystemError) {
            return try serve(options)
        } catch {
            Program.writeError("opsd-runner: \(error)")
            Program.detached(status: 1)
            return 1
        }
    }

    private static func serve(_ options: RunnerOptions) throws(SystemError) -> Int32 {
        try Program.ensureStandardStreams()
        try Files.makePrivateDirectory(options.state)
        try options.goToBackground()
        guard let runner = try Runner.start(options) else {
            // A runner is running, which is what the program that started this one needs.
            Program.writeError("opsd-runner: another runner uses \(options.state)")
            Program.detached(status: 0)
            return options.isDetached ? 0 : 1
        }
        Program.detached(status: 0)
        do throws(SystemError) {
            try Service.notify("READY=1")
        } catch {
            // No reason to give up the operations that this process may have had before it became this program.
            Program.writeError("opsd-runner: \(error)")
        }
        try runner.run()
        return 0
    }
}

internal import OpsClient
internal import OpsSystem
internal import OpsWeb

/// Serves the page; see `WebServer`.
@main struct Main {
    static func main() {
        Program.exit(status: run())
    }

    private static func run() -> Int32 {
        let options: WebOptions
        do throws(WebOptions.Problem) {
            options = try WebOptions.parse(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Program.writeError("opsd-web: \(error.message)")
            return 2
        }
        if options.wantsHelp {
            Program.writeOutput(WebOptions.usage)
            return 0
        }
        do throws(SystemError) {
            try Program.ensureStandardStreams()
            guard let page = WebPage.directory(program: try Program.path()) else {
                Program.writeError(
                    "opsd-web: the page is missing: its files belong in a directory web beside the program")
                return 1
            }
            try WebServer(options, page: page, daemonPath: SocketPath.find()).run()
            return 0
        } catch {
            Program.writeError("opsd-web: \(error)")
            return 1
        }
    }
}

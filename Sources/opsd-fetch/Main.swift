internal import OpsSystem
internal import OpsTransfer

/// Fetches one file; see `Download`.
@main struct Main {
    static func main() {
        Program.exit(status: run())
    }

    private static func run() -> Int32 {
        let report = ProgressReport()
        do throws(Failure) {
            guard let options = try FetchOptions.parse(Array(CommandLine.arguments.dropFirst())) else {
                Program.writeOutput(FetchOptions.usage)
                return 0
            }
            try fetch(options.request, report)
            return 0
        } catch {
            report.say(error.message)
            report.status(error.message)
            return error.kind.exitStatus
        }
    }

    private static func fetch(_ request: DownloadRequest, _ report: ProgressReport) throws(Failure) {
        let engine = try retryable { () throws(SystemError) in
            try Program.ensureStandardStreams()
            // A broken connection and a file that grows too large are errors of a call, not the end of the process.
            try Signals.ignore(Signals.pipe)
            try Signals.ignore(Signals.fileSize)
            return try Engine(.fromEnvironment())
        }
        var result: Result<Int64, Failure>?
        let download = try Download(request, on: engine) { event in
            switch event {
            case .notice(let text): report.say(text)
            // One transfer does not wait for others.
            case .waits: break
            case .ended(let end): result = end
            }
        }
        download.start()
        while result == nil {
            try retryable { () throws(SystemError) in
                try engine.wait(milliseconds: ProgressReport.interval)
                try engine.step()
            }
            report.update(download.progress)
        }
        if case .failure(let failure) = result { throw failure }
        report.finish(download.progress)
    }

    private static func retryable<T>(_ body: () throws(SystemError) -> T) throws(Failure) -> T {
        do throws(SystemError) {
            return try body()
        } catch {
            throw Failure(.retryable, "\(error)")
        }
    }
}

internal import Glibc
internal import OpsModel
internal import OpsSystem

/// Runs opsctl, from the command line to the exit status.
enum Program {
    /// - Parameters:
    ///   - altered: A word that differs from what was typed, and so must not be stored.
    ///   - host: The host that an error names, if this is one of several.
    static func run(_ words: [String], altered: String? = nil, host: String? = nil) -> ExitStatus {
        openStandardDescriptors()
        // If the reader of the output ends, opsctl ends quietly, even if its parent ignores the signal.
        signal(SIGPIPE, SIG_DFL)
        var parser = Parser(words)
        do throws(Failure) {
            let arguments = try parser.parse()
            if let altered {
                let advice =
                    arguments.verb.option(long: Option.shell.name) != nil
                    ? "let a shell create it: --shell with printf, or a pattern such as *"
                    : "give it in UTF-8, or write the bytes to a file and give its path"
                throw .usage(
                    arguments.path, "\"\(altered)\" is not UTF-8, and JSON can contain only UTF-8", advice)
            }
            return try perform(arguments)
        } catch {
            var failure = error
            if let host { failure.what = host }
            failure.lines.forEach(StandardError.line)
            // The other statuses belong to the operation, except for signals to opsctl itself.
            let isOwn = error.status == .operationTimedOut || error.status.code > 128
            return parser.isForOperation && !isOwn ? .own : error.status
        }
    }

    private static func perform(_ arguments: Arguments) throws(Failure) -> ExitStatus {
        // Never released: the process is about to end, so releasing it would be needless work.
        let session = Unmanaged.passRetained(try Session(arguments)).takeUnretainedValue()
        do throws(Failure) {
            let status: ExitStatus
            if arguments.has(.showHelp) {
                try HelpPage.write(arguments.verb, arguments.path, session)
                status = .done
            } else if session.hosts.hosts.count > 1, arguments.verb.asksDaemon {
                status = try ManyHosts(session, session.hosts).run()
            } else if let action = arguments.verb.action {
                status = try action(session)
            } else {
                throw session.refuse("a verb is missing", Parser.seeHelp(arguments.path))
            }
            try session.output.flush()
            return status
        } catch {
            // Lines printed before the failure are still valid. The first failure is the one to report.
            try? session.output.flush()
            throw error
        }
    }

    /// Replaces closed standard descriptors, so that no file that is opened later becomes standard output by accident.
    private static func openStandardDescriptors() {
        for number in Int32(0)...2 where fcntl(number, F_GETFD) < 0 {
            _ = open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}

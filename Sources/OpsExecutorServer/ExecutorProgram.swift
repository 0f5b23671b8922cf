public import OpsSystem
internal import OpsSystemd

/// Executor that is a program of its own, `opsd-KIND`. opsd or a service manager starts it.
public protocol ExecutorProgram: AnyObject {
    static var kind: String { get }
    /// Returns an executor that listens.
    static func start(_ server: ExecutorServer) throws(SystemError) -> Self
    /// Serves until the executor ends. Returns the exit status.
    func run() throws(SystemError) -> Int32
}

extension ExecutorProgram {
    /// Runs the program with the arguments of this process.
    public static func main() {
        Program.exit(status: status())
    }

    private static func status() -> Int32 {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let options = ExecutorOptions(arguments: arguments, kind: kind) else {
            Program.writeError("usage: opsd-\(kind) --state DIR [--name NAME] [--config FILE]")
            return 2
        }
        do throws(SystemError) {
            return try serve(options)
        } catch {
            Program.writeError("opsd-\(kind): \(error)")
            Program.detached(status: 1)
            return 1
        }
    }

    private static func serve(_ options: ExecutorOptions) throws(SystemError) -> Int32 {
        try Program.ensureStandardStreams()
        try Files.makePrivateDirectory(options.state)
        // A service manager follows the process that it has started.
        let isService = Environment["NOTIFY_SOCKET"] != nil
        if !isService {
            try Program.detach()
            try Program.redirectStandardStreams(log: "\(options.state)/executor-\(options.name).log")
        }
        // A broken connection and a file that grows too large are errors of a call, not the end of the process.
        try Signals.ignore(Signals.pipe)
        try Signals.ignore(Signals.fileSize)
        try Signals.ignore(Signals.hangUp)
        guard let server = try ExecutorServer(options, program: "opsd-\(kind)", isService: isService) else {
            Program.writeError("opsd-\(kind): another process serves executor \(options.name) of \(options.state)")
            // An executor is running, which is what the program that started this one needs.
            Program.detached(status: 0)
            return isService ? 1 : 0
        }
        let executor = try start(server)
        Program.detached(status: 0)
        try Service.notify("READY=1")
        return try executor.run()
    }
}

internal import Glibc
internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd
internal import OpsTransfer
internal import Synchronization

/// The output of an attempt: a line for each thing that happened.
final class AttemptLog {
    private let output: Output
    /// For files that the user has named. They may be in a file system that does not answer.
    private var queue: FileQueue?

    /// Makes the files of opsd that the launch names. The user does not own them, since only this process writes to them.
    init(_ request: LaunchRequest) throws(SystemError) {
        switch request.output {
        case .null, .paths: output = Output()
        case .log(let path): output = Output(try LogFile.create(path, owner: nil).openForAppending())
        case .split(let stdout, let stderr):
            _ = try LogFile.create(stdout, owner: nil)
            output = Output(try LogFile.create(stderr, owner: nil).openForAppending())
        case .journal(let identifier): output = Output(try Journal.stream(identifier: identifier))
        }
    }

    /// Opens the files that the user has named, with the rights of the user. Then calls `done`, with the failure if there
    /// is one.
    func open(
        _ request: LaunchRequest, _ engine: Engine, _ rights: FileRights?, then done: @escaping (SystemError?) -> Void
    ) throws(Failure) {
        guard case .paths(let stdout, let stderr) = request.output else { return done(nil) }
        let queue = try engine.fileQueue(for: rights)
        self.queue = queue
        let (output, directory, mode) = (output, request.directory, 0o666 & ~request.umask)
        let paths = [stderr, stdout].map { TransferOrder.absolute($0, in: directory) }
        queue.run { () throws(Failure) -> SystemError? in
            do throws(SystemError) {
                let file = try Self.open(paths[0], mode)
                // Standard output stays empty, as that of opsd-fetch.
                if paths[1] != paths[0] { _ = try Self.open(paths[1], mode) }
                output.set(file)
                return nil
            } catch {
                return error
            }
        } then: { result in
            switch result {
            case .success(let failure): done(failure)
            case .failure(let failure): done(SystemError(failure.message, errno: EAGAIN))
            }
        }
    }

    /// A pipe without a reader is an error; opening it does not block.
    private static func open(_ path: String, _ mode: UInt32) throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        let number = Glibc.open(path, flags, mode)
        guard number >= 0 else { throw SystemError("open \(path)", errno: errno) }
        return Descriptor(owning: number)
    }

    /// Appends a line. The transfer continues if the log cannot be written.
    func write(_ line: String) {
        guard let queue else { return output.write(line) }
        let output = output
        queue.run { () throws(Failure) in
            output.write(line)
        } then: { _ in
        }
    }

    /// Calls `done` when all lines are written.
    func finish(then done: @escaping () -> Void) {
        guard let queue else { return done() }
        queue.run { () throws(Failure) in
        } then: { _ in
            done()
        }
    }

    /// The open file.
    private final class Output: Sendable {
        private let file: Mutex<Descriptor?>

        init() { file = Mutex(nil) }
        init(_ file: consuming Descriptor) { self.file = Mutex(file) }

        func set(_ file: consuming Descriptor) {
            let number = file.release()
            self.file.withLock { $0 = Descriptor(owning: number) }
        }

        func write(_ line: String) {
            let bytes = Array((line + "\n").utf8)
            file.withLock { file in
                guard let number = file?.rawValue else { return }
                _ = Glibc.write(number, bytes, bytes.count)
            }
        }
    }
}

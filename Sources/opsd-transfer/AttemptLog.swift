internal import Glibc
internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd
internal import OpsTransfer

/// The output of an attempt: a line for each thing that happened.
final class AttemptLog {
    private var file: Descriptor?

    /// Makes the files that the launch names. Those that the user has named are opened with the user's rights.
    init(_ request: LaunchRequest, rights: FileRights?) throws(SystemError) {
        let owner = request.user.map { (uid: $0.uid, gid: $0.gid) }
        switch request.output {
        case .null: file = nil
        case .log(let path): file = try LogFile.create(path, owner: owner).openForAppending()
        case .split(let stdout, let stderr):
            _ = try LogFile.create(stdout, owner: owner)
            file = try LogFile.create(stderr, owner: owner).openForAppending()
        case .journal(let identifier): file = try Journal.stream(identifier: identifier)
        case .paths(let stdout, let stderr):
            let number: Int32
            if let rights {
                number = try rights.perform { () throws(SystemError) in try Self.open(stdout, stderr, request) }
            } else {
                number = try Self.open(stdout, stderr, request)
            }
            file = Descriptor(owning: number)
        }
    }

    private static func open(
        _ stdout: String, _ stderr: String, _ request: LaunchRequest
    ) throws(SystemError) -> Int32 {
        let number = try open(stderr, request)
        guard stdout != stderr else { return number }
        // Standard output stays empty, as that of opsd-fetch.
        do throws(SystemError) {
            _ = Descriptor(owning: try open(stdout, request))
        } catch {
            _ = Descriptor(owning: number)
            throw error
        }
        return number
    }

    /// A pipe without a reader is an error; opening it does not block.
    private static func open(_ path: String, _ request: LaunchRequest) throws(SystemError) -> Int32 {
        let path = TransferOrder.absolute(path, in: request.directory)
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        let number = Glibc.open(path, flags, 0o666 & ~request.umask)
        guard number >= 0 else { throw SystemError("open \(path)", errno: errno) }
        return number
    }

    /// Appends a line. The transfer continues if the log cannot be written.
    func write(_ line: String) {
        guard let number = file?.rawValue else { return }
        let bytes = Array((line + "\n").utf8)
        _ = Glibc.write(number, bytes, bytes.count)
    }
}

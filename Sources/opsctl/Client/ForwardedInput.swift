internal import Glibc
internal import OpsSystem

/// Standard input of `opsctl run`, which is passed to the operation through a named pipe.
final class ForwardedInput {
    private let directory: String
    let path: String
    /// Both ends of the pipe. While they are open, a process that opens the pipe waits for input.
    private let pipe: Int32

    /// Returns nil if there is no input to pass on.
    init?(_ session: Session) throws(Failure) {
        guard !session.arguments.has(.stdin), Self.isPassedOn(STDIN_FILENO) else { return nil }
        guard session.host == nil else {
            throw session.refuse(
                "standard input cannot be passed on to another host", "give --stdin FILE, or add < /dev/null")
        }
        guard !session.arguments.has(.runAs) else {
            throw session.refuse(
                "standard input cannot be passed on to another user", "give --stdin FILE, or add < /dev/null")
        }
        let parent = Environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array("\(parent)/opsctl-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Self.failed(session) }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = OperationKeys.absolute(directory) + "/stdin"
        pipe = mkfifo(path, 0o600) == 0 ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1
        guard pipe >= 0 else {
            let failure = Self.failed(session)
            remove()
            throw failure
        }
    }

    deinit { remove() }

    private func remove() {
        unlink(path)
        rmdir(directory)
    }

    private static func failed(_ session: Session) -> Failure {
        Failure(
            .own, session.arguments.path, "cannot pass on standard input: \(SystemError.text(errno))",
            "give --stdin FILE, or add < /dev/null")
    }

    private static func isPassedOn(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return [S_IFREG, S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
    }

    // MARK: - Copying, one step at a time

    private var isForwarding = false
    private var hasEnded = false
    private var isClosed = false
    /// Bytes that were read but do not fit into the pipe yet.
    private var pending: ArraySlice<UInt8> = []

    /// Starts copying standard input.
    func start() { isForwarding = true }

    /// Descriptor to read from when there is room; -1 for none.
    var source: Int32 { isForwarding && !hasEnded && pending.isEmpty ? STDIN_FILENO : -1 }
    /// Descriptor to write to when it has room; -1 for none.
    var target: Int32 { pending.isEmpty || isClosed ? -1 : pipe }
    /// Time after which to call `proceed` again although no descriptor is ready.
    var pause: Int32? { isForwarding && hasEnded && !isClosed && pending.isEmpty ? Self.pause : nil }

    /// Copies as much as possible now.
    ///
    /// - Parameter hasInput: True if standard input can be read.
    func proceed(hasInput: Bool) {
        guard isForwarding, !isClosed else { return }
        if hasInput, pending.isEmpty, !hasEnded {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count > 0 {
                pending = buffer[..<count]
            } else if count == 0 || errno != EINTR && errno != EAGAIN {
                hasEnded = true
            }
        }
        while !pending.isEmpty {
            let written = pending.withUnsafeBytes { write(pipe, $0.baseAddress, $0.count) }
            guard written > 0 else { break }
            pending = pending.dropFirst(written)
        }
        guard hasEnded, pending.isEmpty else { return }
        // Bytes in the pipe are lost if its last end is closed before a process has opened it.
        var left: Int32 = 0
        if ioctl(pipe, UInt(FIONREAD), &left) != 0 || left == 0 {
            close(pipe)
            isClosed = true
        }
    }

    /// Milliseconds between two checks of a pipe that is not empty yet.
    private static let pause: Int32 = 10
}

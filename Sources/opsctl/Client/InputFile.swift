internal import Glibc
internal import OpsSystem

/// A whole file; `-` is standard input.
enum InputFile {
    /// More bytes than a submission may have.
    private static let limit = 4 << 30

    static func read(_ path: String, _ what: String) throws(Failure) -> [UInt8] {
        do throws(SystemError) { return try bytes(of: path, atMost: limit) } catch {
            if error.errno == EFBIG { throw Failure(.refused, path, "it is larger than 4 GiB", "split it") }
            throw failed(path, what, error.errno)
        }
    }

    static func bytes(of path: String, atMost limit: Int) throws(SystemError) -> [UInt8] {
        let number = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw SystemError("open", errno: errno) }
        let file = Descriptor(owning: number)
        var bytes: [UInt8] = []
        while bytes.count < limit {
            switch try file.read(atMost: 1 << 20, onto: &bytes) {
            case .moved: continue
            // Another process that shares standard input has made it non-blocking.
            case .wouldBlock: try file.waitUntil(.readable)
            case .ended: return bytes
            }
        }
        throw SystemError("read", errno: EFBIG)
    }

    private static func failed(_ path: String, _ what: String, _ number: Int32) -> Failure {
        Failure(
            .usage, "\(what): \(path)", SystemError.text(number),
            number == ENOENT ? "name a file that exists, or - for standard input" : nil)
    }
}

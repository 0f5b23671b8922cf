internal import Glibc
internal import OpsSystem

/// Opens the page in a browser. A private file contains the token and redirects to the page, because every user can
/// read command lines.
struct BrowserLaunch {
    let path: String

    /// Writes the file and starts the user's browser on it.
    init(link: String) throws(SystemError) {
        let folder = Environment["XDG_RUNTIME_DIR"].flatMap { Files.isDirectory($0) ? $0 : nil }
        // In /tmp, the name must not be guessable, and an existing file is not followed.
        path = (folder ?? "/tmp") + "/opsd-web-\(try Randomness.identifier()).html"
        let text = """
            <!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>opsd</title>
            <meta http-equiv="refresh" content="0;url=\(link)">

            """
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let path = path
        let file = Descriptor(owning: try retrying("open \(path)") { unsafe open(path, flags, 0o600) })
        do throws(SystemError) {
            _ = try file.writeAll(Array(text.utf8))
            try Self.start(["xdg-open", path])
        } catch {
            remove()
            throw error
        }
    }

    /// Removes the file, if it is still there.
    func remove() {
        do throws(SystemError) { try Files.remove(path) } catch { Program.writeError("opsd-web: \(error)") }
    }

    private static func start(_ arguments: [String]) throws(SystemError) {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { while let pointer = unsafe pointers.popLast() { unsafe free(pointer) } }
        var pid: pid_t = 0
        let result = unsafe posix_spawnp(&pid, arguments[0], nil, nil, &pointers, environ)
        guard result == 0 else { throw SystemError("start \(arguments[0])", errno: result) }
    }
}

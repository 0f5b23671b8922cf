internal import Glibc

/// A lock that gives a state directory to one process. The kernel releases it when the process dies.
struct StateLock: ~Copyable {
    private let descriptor: Int32

    init(directory: String) throws(StoreError) {
        let path = directory + "/lock"
        let opened = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            let code = errno
            let message = "cannot open: \(unsafe String(cString: strerror(code)))"
            switch code {
            case ENOSPC, EDQUOT: throw StoreError(.full, message, file: path)
            case EACCES, EPERM, EROFS: throw StoreError(.readOnly, message, file: path)
            case EISDIR, ENXIO, ELOOP, ENOENT:
                throw StoreError(
                    .other, message, file: path,
                    advice: "opsd needs a file there; move away whatever has this name, and start opsd again")
            default: throw StoreError(.ioError, message, file: path)
            }
        }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(opened)
            guard code == EWOULDBLOCK else {
                throw StoreError(.ioError, "cannot lock: \(unsafe String(cString: strerror(code)))", file: path)
            }
            throw StoreError(
                .busy, "another opsd uses this state directory", file: path,
                advice: "end it first, or start this one with another --state directory")
        }
        descriptor = opened
    }

    deinit {
        // Released explicitly: a child between fork and exec still has the descriptor, and with it the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

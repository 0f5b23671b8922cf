internal import Glibc

/// The proof that one process owns a state directory: a lock that the kernel drops when its holder dies.
struct StateLock: ~Copyable {
    private let descriptor: Int32

    init(directory: String) throws(StoreError) {
        let path = directory + "/lock"
        let opened = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            let code = errno
            let kind: StoreError.Kind = code == ENOSPC ? .full : code == EACCES || code == EROFS ? .readOnly : .ioError
            throw StoreError(kind, "cannot open: \(unsafe String(cString: strerror(code)))", file: path)
        }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            close(opened)
            throw StoreError(
                .busy, "another opsd uses this state directory", file: path,
                advice: "end it first, or start this one with another --state directory")
        }
        descriptor = opened
    }

    deinit {
        // Said outright: a child between fork and exec still holds the descriptor, and with it the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

internal import COpsSpawn
internal import Glibc

/// The program of this process.
public enum Program {
    /// Goes to the background, in a session of its own. The process that was started waits for `detached`.
    /// To be called first, before any file is opened.
    public static func detach() throws(SystemError) {
        try retrying("detach") { ops_detach() }
    }

    /// Lets the process that was started exit with this status, if the program went to the background.
    public static func detached(status: Int32) { ops_detached(status) }

    /// Makes large blocks of memory go back to the kernel when they are freed, so that one large request does not occupy
    /// memory for good.
    public static func returnLargeBlocks() { ops_return_large_blocks() }

    /// Returns memory that was freed in smaller blocks. Threads that allocate from the same arena wait meanwhile.
    public static func returnFreeMemory() { ops_return_free_memory() }

    /// Returns the path of the program file: after an upgrade, of the new one.
    public static func path() throws(SystemError) -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = try retrying("readlink") { unsafe readlink("/proc/self/exe", &buffer, buffer.count) }
        let path = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The kernel appends this to the name of a file that was replaced.
        let mark = " (deleted)"
        return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }

    /// Becomes another program, in this process. Returns only if that failed.
    public static func execute(_ path: String, arguments: [String]) -> SystemError {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        unsafe execv(path, pointers)
        let error = SystemError.last("exec \(path)")
        while let pointer = unsafe pointers.popLast() { unsafe free(pointer) }
        return error
    }

    /// Opens /dev/null for each standard stream that is closed, so that no other file gets its number.
    public static func ensureStandardStreams() throws(SystemError) {
        while true {
            let number = try retrying("open /dev/null") { unsafe open("/dev/null", O_RDWR) }
            if number > 2 {
                close(number)
                return
            }
        }
    }

    /// Redirects standard output and error to a log, or to /dev/null, and standard input to /dev/null.
    public static func redirectStandardStreams(log: String?) throws(SystemError) {
        let null = try retrying("open /dev/null") { unsafe open("/dev/null", O_RDWR | O_CLOEXEC) }
        let empty = Descriptor(owning: null)
        try retrying("redirect") { dup2(empty.rawValue, 0) }
        guard let log else {
            try retrying("redirect") { dup2(empty.rawValue, 1) }
            try retrying("redirect") { dup2(empty.rawValue, 2) }
            return
        }
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
        let file = Descriptor(owning: try retrying("open \(log)") { unsafe open(log, flags, 0o600) })
        try retrying("redirect") { dup2(file.rawValue, 1) }
        try retrying("redirect") { dup2(file.rawValue, 2) }
    }

    public static func exit(status: Int32) -> Never { Glibc.exit(status) }

    /// Writes text to standard output.
    public static func writeOutput(_ text: String) { write(text, to: 1) }

    /// Writes a line to standard error.
    public static func writeError(_ line: String) { write(line + "\n", to: 2) }

    /// Writes text to a descriptor. If its reader is gone there is nowhere to report that.
    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// Limit of open files of this process.
public enum OpenFiles {
    public static func limit() throws(SystemError) -> (soft: UInt64, hard: UInt64) {
        var soft: UInt64 = 0
        var hard: UInt64 = 0
        try retrying("getrlimit") { unsafe ops_get_open_files(&soft, &hard) }
        return (soft, hard)
    }

    /// Raises the limit as far as allowed. Programs that are started from here inherit it unless it is reset for them.
    public static func raiseLimit() throws(SystemError) {
        let (soft, hard) = try limit()
        if soft < hard { try retrying("setrlimit") { ops_set_open_files(hard, hard) } }
    }
}

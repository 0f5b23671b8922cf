internal import COpsSpawn
internal import Glibc

/// This very program, as a process.
public enum Program {
    /// Goes to the background, in a session of its own: the process that was started waits for `detached`.
    /// To be called before anything else, while nothing is open.
    public static func detach() throws(SystemError) {
        try retrying("detach") { ops_detach() }
    }

    /// Lets the process that was started exit, with this status; nothing where there is none.
    public static func detached(status: Int32) { ops_detached(status) }

    /// From now on a large block of memory goes back to the kernel when it is freed: what one huge request needed is
    /// not held for ever.
    public static func returnLargeBlocks() { ops_return_large_blocks() }

    /// Gives back what was freed in smaller blocks; other threads wait where they allocate from the same part of memory.
    public static func returnFreeMemory() { ops_return_free_memory() }

    /// Where the program's file is now: after an upgrade, the new one.
    public static func path() throws(SystemError) -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = try retrying("readlink") { unsafe readlink("/proc/self/exe", &buffer, buffer.count) }
        let path = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // What the kernel appends to the name of a file that was replaced.
        let mark = " (deleted)"
        return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }

    /// Becomes another program, in this process; returns only when that failed.
    public static func execute(_ path: String, arguments: [String]) -> SystemError {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        unsafe execv(path, pointers)
        let error = SystemError.last("exec \(path)")
        while let pointer = unsafe pointers.popLast() { unsafe free(pointer) }
        return error
    }

    /// Opens /dev/null where standard input, output or error is closed, so that no file of ours takes its number.
    public static func ensureStandardStreams() throws(SystemError) {
        while true {
            let number = try retrying("open /dev/null") { unsafe open("/dev/null", O_RDWR) }
            if number > 2 {
                close(number)
                return
            }
        }
    }

    /// Sends standard input, output and error elsewhere; a `nil` log sends them to /dev/null.
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

    /// To standard output, of what was asked for.
    public static func say(_ text: String) { write(text, to: 1) }

    /// One line on standard error.
    public static func complain(_ line: String) { write(line + "\n", to: 2) }

    /// A reader that has gone is no reason to stop, and there is nowhere to report it.
    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// How many files this process may have open.
public enum OpenFiles {
    public static func limit() throws(SystemError) -> (soft: UInt64, hard: UInt64) {
        var soft: UInt64 = 0
        var hard: UInt64 = 0
        try retrying("getrlimit") { unsafe ops_get_open_files(&soft, &hard) }
        return (soft, hard)
    }

    /// As many as allowed; what a process gets that is started from here must be set back by hand.
    public static func raiseLimit() throws(SystemError) {
        let (soft, hard) = try limit()
        if soft < hard { try retrying("setrlimit") { ops_set_open_files(hard, hard) } }
    }
}

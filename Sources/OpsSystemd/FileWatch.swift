internal import Glibc
public import OpsSystem

/// Watch of files and directories, through one inotify descriptor. A handler is also called after the events that other
/// handlers of the same file wait for.
public final class FileWatch {
    /// Registration of one handler for one file, until `cancel`.
    public struct Token: Hashable, Sendable {
        fileprivate let watch: Int32
        fileprivate let number: Int

        /// Returns whether another registration is for the same file, and not for one that had its name.
        public func isForSameFile(as other: Token?) -> Bool { watch == other?.watch }
    }

    /// Inotify descriptor, which a thread may use even after the end of its `FileWatch`.
    public final class Queue: Sendable {
        fileprivate let descriptor: Descriptor

        fileprivate init() throws(SystemError) {
            let flags = Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)
            descriptor = Descriptor(owning: try retrying("inotify_init1") { inotify_init1(flags) })
        }

        /// Starts a watch for `FileWatch.watchFiles`, outside the loop: the file system can delay it for any time.
        /// - Returns: Number of the watch, which `FileWatch.add` needs in any case. Only its tokens end a watch.
        public func watchFiles(of directory: String) throws(SystemError) -> Int32 {
            let writes = UInt32(IN_CLOSE_WRITE) | UInt32(IN_MODIFY) | UInt32(IN_ATTRIB)
            let names = UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVE_SELF)
            return try watch(directory, writes | names)
        }

        fileprivate func watch(_ path: String, _ mask: UInt32) throws(SystemError) -> Int32 {
            let number = descriptor.rawValue
            // Added to the events that earlier handlers of the same file need.
            let added = mask | UInt32(IN_MASK_ADD)
            return try retrying("watch \(path)") { unsafe inotify_add_watch(number, path, added) }
        }
    }

    public let queue: Queue
    private var source: ReadinessSource?
    /// Handlers by watch: two handlers for one file share its watch.
    private var handlers: [Int32: [Int: () -> Void]] = [:]
    private var lastNumber = 0

    public init(_ loop: EventLoop) throws(SystemError) {
        queue = try Queue()
        source = try loop.watch(queue.descriptor.rawValue, for: .readable) { [unowned self] _ in self.read() }
    }

    deinit { source?.cancel() }

    /// Calls `handler` after a file was written to, or a name was added to a directory.
    public func watch(_ path: String, _ handler: @escaping () -> Void) throws(SystemError) -> Token {
        add(handler, to: try queue.watch(path, UInt32(IN_MODIFY) | UInt32(IN_CREATE) | UInt32(IN_MOVED_TO)))
    }

    /// Calls `handler` after a name of a file was removed, or its mode or owner changed.
    public func watchNames(of path: String, _ handler: @escaping () -> Void) throws(SystemError) -> Token {
        add(handler, to: try queue.watch(path, UInt32(IN_ATTRIB)))
    }

    /// Calls `handler` after a file of a directory was added, written to or touched, or the directory was renamed or
    /// removed. Another directory with its name needs another registration.
    public func watchFiles(of directory: String, _ handler: @escaping () -> Void) throws(SystemError) -> Token {
        add(handler, to: try queue.watchFiles(of: directory))
    }

    /// Adds a handler for a watch that `queue` has started. If all other handlers of the file were cancelled meanwhile,
    /// the watch has ended: a later registration for the file then gets another one.
    public func add(_ handler: @escaping () -> Void, to watch: Int32) -> Token {
        lastNumber += 1
        handlers[watch, default: [:]][lastNumber] = handler
        return Token(watch: watch, number: lastNumber)
    }

    public func cancel(_ token: Token) {
        handlers[token.watch]?[token.number] = nil
        guard handlers[token.watch]?.isEmpty ?? false else { return }
        handlers[token.watch] = nil
        // The watch may have ended with its file.
        _ = inotify_rm_watch(queue.descriptor.rawValue, token.watch)
    }

    private func read() {
        var bytes: [UInt8] = []
        // Without events there is nothing to read. Any other error shows at the next watch.
        guard case .moved = try? queue.descriptor.read(atMost: 64 << 10, onto: &bytes) else { return }
        var changed: [Int32] = []
        var ended: Set<Int32> = []
        var rest = bytes[...]
        // struct inotify_event: int wd; uint32_t mask, cookie, len; char name[len].
        while rest.count >= 16 {
            let start = rest.startIndex
            let watch = Int32(truncatingIfNeeded: number(rest, at: start))
            let length = Int(number(rest, at: start + 12))
            let mask = number(rest, at: start + 4)
            // The queue of the kernel was full: any file may have changed.
            if mask & UInt32(IN_Q_OVERFLOW) != 0 { changed = handlers.keys.sorted() }
            // The kernel has ended the watch: the file was removed, or its file system unmounted.
            if mask & UInt32(IN_IGNORED) != 0 { ended.insert(watch) }
            if !changed.contains(watch) { changed.append(watch) }
            rest = rest.dropFirst(16 + length)
        }
        for watch in changed {
            for number in (handlers[watch] ?? [:]).keys.sorted() {
                // An earlier handler may have cancelled this one.
                if let handler = handlers[watch]?[number] { handler() }
            }
            if ended.contains(watch) { handlers[watch] = nil }
        }
    }

    private func number(_ bytes: ArraySlice<UInt8>, at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * $1) }
    }
}

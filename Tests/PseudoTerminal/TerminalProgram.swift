import Foundation
import Glibc

/// A program in a terminal of its own: keys go in, its screen can be read.
public final class TerminalProgram {
    public let pid: Int32
    public private(set) var screen: ScreenText
    /// Everything that was written to the terminal.
    public private(set) var bytes: [UInt8] = []
    private let master: Int32
    /// Held so that the terminal outlives the program and its modes can be looked at.
    private let terminal: Int32
    private var status: Int32?
    /// TIOCSPTLCK and TIOCGPTN.
    private static let (setLock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))

    public init(
        _ program: String, _ arguments: [String], environment: [String: String], columns: Int = 80, rows: Int = 24
    ) throws {
        // Calls such as posix_openpt, which Swift does not see.
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var unlocked: Int32 = 0
        var number: Int32 = 0
        guard master >= 0, ioctl(master, Self.setLock, &unlocked) == 0, ioctl(master, Self.getNumber, &number) == 0
        else { throw TerminalError("no pseudo-terminal: \(String(cString: strerror(errno)))") }
        let path = "/dev/pts/\(number)"
        terminal = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        screen = ScreenText(columns: columns, rows: rows)
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that the leader of a session opens is its own.
        for number in Int32(0)...2 { posix_spawn_file_actions_addopen(&actions, number, path, O_RDWR, 0) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(0x80)  // POSIX_SPAWN_SETSID
        posix_spawnattr_setflags(&attributes, flags)
        var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var child: pid_t = 0
        let error = posix_spawn(&child, program, &actions, &attributes, &argv, &envp)
        guard error == 0 else { throw TerminalError("cannot start \(program): \(String(cString: strerror(error)))") }
        pid = child
    }

    deinit {
        if status == nil {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        close(master)
        close(terminal)
    }

    public func type(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    public func resize(columns: Int, rows: Int) {
        screen = ScreenText(columns: columns, rows: rows)
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// Reads until the screen is so.
    public func until(_ what: String, seconds: Double = 60, _ isSo: (ScreenText) -> Bool) throws {
        let end = Date().addingTimeInterval(seconds)
        while !isSo(screen) {
            guard Date() < end else { throw TerminalError("\(what) was not seen on:\n\(screen.text)") }
            let isOver = hasEnded()
            guard take(milliseconds: 50) || !isOver || isSo(screen) else {
                throw TerminalError("it ended (\(status ?? 0)) before \(what) was seen on:\n\(screen.text)")
            }
        }
    }

    /// Waits for the end; the status as a shell says it.
    public func wait(seconds: Double = 60) throws -> Int32 {
        let end = Date().addingTimeInterval(seconds)
        while !hasEnded() {
            guard Date() < end else { throw TerminalError("it does not end; on its screen:\n\(screen.text)") }
            take(milliseconds: 50)
        }
        while take(milliseconds: 0) {}
        let status = status ?? 0
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }

    /// Lines are edited and echoed, as a shell leaves a terminal.
    public var isCooked: Bool {
        var modes = termios()
        tcgetattr(terminal, &modes)
        return modes.c_lflag & UInt32(ICANON) != 0 && modes.c_lflag & UInt32(ECHO) != 0
    }

    private func hasEnded() -> Bool {
        guard status == nil else { return true }
        var value: Int32 = 0
        guard waitpid(pid, &value, WNOHANG) == pid else { return false }
        status = value
        return true
    }

    /// Reads new output onto the screen; false if there was none.
    @discardableResult
    private func take(milliseconds: Int32) -> Bool {
        var wanted = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, milliseconds) == 1 else { return false }
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = read(master, &buffer, buffer.count)
        guard count > 0 else { return false }
        bytes += buffer[..<count]
        screen.write(String(decoding: buffer[..<count], as: UTF8.self))
        return true
    }
}

public struct TerminalError: Error, CustomStringConvertible {
    public var description: String
    init(_ description: String) { self.description = description }
}

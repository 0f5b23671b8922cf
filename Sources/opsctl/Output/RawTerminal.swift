internal import Glibc
internal import OpsWire

/// A terminal that returns keys as they are pressed and has a screen of its own. Its earlier state is always restored.
final class RawTerminal {
    enum Key: Equatable {
        case up, down, pageUp, pageDown, home, end, enter, escape
        case character(Character)
    }

    private var original = termios()
    private var isRaw = false

    init() throws(Failure) {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &original) == 0 else {
            throw Failure(.usage, "", "top needs a terminal", "try opsctl status --watch, or opsctl ls")
        }
        var raw = original
        // Output processing stays on; only input is raw.
        raw.c_lflag &= ~UInt32(ICANON | ECHO | ISIG | IEXTEN)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw)
        isRaw = true
        Self.put("\u{1b}[?1049h\u{1b}[?25l")
    }

    deinit { restore() }

    func restore() {
        guard isRaw else { return }
        isRaw = false
        Self.put("\u{1b}[?25h\u{1b}[?1049l")
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &original)
    }

    private static func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }

    /// Returns the keys that were pressed; nil if the terminal is gone.
    func keys() -> [Key]? {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0 && errno == EINTR { return [] }
        guard count > 0 else { return nil }
        return Self.decode(String(decoding: bytes[..<count], as: UTF8.self))
    }

    private static let sequences: [(text: String, key: Key)] = [
        ("\u{1b}[A", .up), ("\u{1b}OA", .up), ("\u{1b}[B", .down), ("\u{1b}OB", .down), ("\u{1b}[5~", .pageUp),
        ("\u{1b}[6~", .pageDown), ("\u{1b}[H", .home), ("\u{1b}OH", .home), ("\u{1b}[F", .end), ("\u{1b}OF", .end),
    ]

    private static func decode(_ text: String) -> [Key] {
        var keys: [Key] = []
        var rest = text[...]
        while let first = rest.first {
            if let sequence = sequences.first(where: { rest.hasPrefix($0.text) }) {
                keys.append(sequence.key)
                rest = rest.dropFirst(sequence.text.count)
                continue
            }
            rest = rest.dropFirst()
            switch first {
            case "\r", "\n", "\r\n": keys.append(.enter)
            case "\u{1b}":
                keys.append(.escape)
                // Skips the rest of an unknown sequence.
                if rest.first == "[" || rest.first == "O" {
                    rest = rest.dropFirst().drop { !$0.isLetter && $0 != "~" }.dropFirst()
                }
            default: keys.append(.character(first))
            }
        }
        return keys
    }
}

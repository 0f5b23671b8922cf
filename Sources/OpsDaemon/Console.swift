internal import Glibc

/// What opsd says to whoever started it.
public enum Console {
    public static func write(_ text: String) { write(text, to: 1) }

    /// One line on standard error, and the end.
    public static func fail(_ message: String, status: Int32) -> Never {
        write("opsd: \(message)\n", to: 2)
        exit(status)
    }

    public static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    /// A reader that has gone is no reason to stop.
    static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

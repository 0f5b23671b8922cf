/// Release of opsd, opsd-runner and opsctl, which are built together.
public struct Release: Hashable, Sendable {
    public static let current = Release("0.1.0")

    public let text: String
    public init(_ text: String) { self.text = text }

    /// Compares releases number by number. The empty release, of a program that does not say, is the oldest.
    public static func isOlder(_ a: Release, than b: Release) -> Bool {
        a.numbers.lexicographicallyPrecedes(b.numbers)
    }

    private var numbers: [Int] { text.split(separator: ".").map { Int($0) ?? 0 } }
}

/// Output of an operation, made harmless for a terminal: colours stay, and a question mark replaces each other control
/// character or invisible character, so that the output cannot control the terminal or imitate another line.
struct TerminalOutput {
    /// A character or a colour at the beginning of some output.
    private struct Item {
        let length: Int
        let isShown: Bool

        static let hiddenByte = Item(length: 1, isShown: false)
    }

    private static let escape: UInt8 = 0x1b
    /// Longest parameters of a colour, in bytes.
    private static let mostParameters = 64

    private let allowsOverwriting: Bool
    /// Beginning of a character or a colour that has not wholly arrived.
    private var partial: [UInt8] = []
    /// True if a colour was shown, which may still be in effect.
    private var isColoured = false

    /// - Parameter allowsOverwriting: True if carriage returns and backspaces stay, which progress bars need.
    init(allowsOverwriting: Bool) { self.allowsOverwriting = allowsOverwriting }

    /// Returns a line of which nothing remains in effect in the next one.
    static func line(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var output = TerminalOutput(allowsOverwriting: false)
        // A carriage return before the end of a line has no effect.
        return output.add(bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes) + output.finish()
    }

    /// Adds a piece of the output and returns the part that can be shown now. The end of the piece is kept back if it
    /// is incomplete.
    mutating func add(_ piece: some Collection<UInt8>) -> [UInt8] {
        partial += piece
        return show(isLast: false)
    }

    /// Returns the part that was kept back, and the end of all colours.
    mutating func finish() -> [UInt8] {
        let rest = show(isLast: true)
        defer { isColoured = false }
        return isColoured ? rest + Array("\u{1b}[0m".utf8) : rest
    }

    private mutating func show(isLast: Bool) -> [UInt8] {
        var shown: [UInt8] = []
        shown.reserveCapacity(partial.count)
        var index = 0
        while index < partial.count {
            guard let item = item(at: index) ?? (isLast ? Item.hiddenByte : nil) else { break }
            if item.isShown {
                shown += partial[index..<index + item.length]
                if partial[index] == Self.escape { isColoured = true }
            } else {
                shown.append(UInt8(ascii: "?"))
            }
            index += item.length
        }
        partial.removeFirst(index)
        return shown
    }

    /// Returns the character or colour at `index`; nil if it has not wholly arrived.
    private func item(at index: Int) -> Item? {
        switch partial[index] {
        case 0x20..<0x7f, UInt8(ascii: "\t"), UInt8(ascii: "\n"): Item(length: 1, isShown: true)
        case UInt8(ascii: "\r"), 0x08: Item(length: 1, isShown: allowsOverwriting)
        case Self.escape: Self.colour(partial[index...])
        default: Self.character(partial[index...])
        }
    }

    /// Returns the escape sequence of a colour (`ESC [ 1 ; 31 m`), or the one that grep and gcc add to it: `ESC [ K`
    /// erases the rest of the line.
    private static func colour(_ bytes: ArraySlice<UInt8>) -> Item? {
        guard let bracket = bytes.dropFirst().first else { return nil }
        // Digits, colons and semicolons.
        let parameters = bytes.dropFirst(2).prefix { (0x30...0x3b).contains($0) }
        guard bracket == UInt8(ascii: "["), parameters.count <= mostParameters else { return .hiddenByte }
        guard let command = bytes.dropFirst(2 + parameters.count).first else { return nil }
        let isColour = command == UInt8(ascii: "m") || command == UInt8(ascii: "K") && parameters.isEmpty
        return isColour ? Item(length: 3 + parameters.count, isShown: true) : Item.hiddenByte
    }

    /// Returns a character outside of ASCII, or a byte that is not UTF-8.
    private static func character(_ bytes: ArraySlice<UInt8>) -> Item? {
        let length =
            switch bytes.first ?? 0 {
            case 0xc2...0xdf: 2
            case 0xe0...0xef: 3
            case 0xf0...0xf4: 4
            default: 1
            }
        let present = bytes.prefix(length)
        if present.count < length, present.dropFirst().allSatisfy({ $0 & 0xc0 == 0x80 }) { return nil }
        guard let scalar = String(validating: present, as: UTF8.self)?.unicodeScalars.first else { return .hiddenByte }
        return Item(length: length, isShown: !scalar.isInvisible)
    }
}

/// Number of terminal cells that a text takes.
public enum DisplayWidth {
    public static func of(_ text: String) -> Int {
        // Almost all text is printable ASCII.
        var cells = 0
        for byte in text.utf8 {
            if byte >= 0x80 || byte < 0x20 || byte == 0x7f { return text.reduce(0) { $0 + of($1) } }
            cells += 1
        }
        return cells
    }

    public static func of(_ character: Character) -> Int {
        var widest = 0
        var letters = 0
        for scalar in character.unicodeScalars {
            // Variation selector 16 selects the emoji form, which is wide.
            if scalar.value == 0xfe0f { return 2 }
            widest = max(widest, of(scalar))
            if (0x1f1e6...0x1f1ff).contains(scalar.value) { letters += 1 }
        }
        // Two regional indicator letters are one flag.
        return letters == 2 ? 2 : widest
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value) { return 0 }
        if scalar.value < 0x300 { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return isWide(scalar.value) ? 2 : 1
        }
    }

    /// Returns true for East Asian Wide and Fullwidth characters, and for emoji that are shown as wide by default.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115f, 0x231a...0x231b, 0x23e9...0x23ec, 0x25fd...0x25fe, 0x2614...0x2615, 0x2648...0x2653,
            0x26a1, 0x26bd...0x26be, 0x26c4...0x26c5, 0x26d4, 0x2705, 0x270a...0x270b, 0x2728, 0x274c, 0x274e,
            0x2753...0x2755, 0x2757, 0x2795...0x2797, 0x2b1b...0x2b1c, 0x2b50, 0x2b55, 0x2e80...0x303e,
            0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0x9fff, 0xa000...0xa4cf, 0xa960...0xa97f, 0xac00...0xd7a3,
            0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18cff, 0x1aff0...0x1b2ff,
            0x1f004, 0x1f0cf, 0x1f18e, 0x1f191...0x1f19a, 0x1f200...0x1f320, 0x1f32d...0x1f335, 0x1f337...0x1f37c,
            0x1f37e...0x1f393, 0x1f3a0...0x1f3ca, 0x1f3cf...0x1f3d3, 0x1f3e0...0x1f3f0, 0x1f3f4, 0x1f3f8...0x1f43e,
            0x1f440, 0x1f442...0x1f4fc, 0x1f4ff...0x1f53d, 0x1f54b...0x1f54e, 0x1f550...0x1f567, 0x1f57a,
            0x1f595...0x1f596, 0x1f5a4, 0x1f5fb...0x1f64f, 0x1f680...0x1f6c5, 0x1f6cc, 0x1f6d0...0x1f6d2,
            0x1f6d5...0x1f6d7, 0x1f6dc...0x1f6df, 0x1f6eb...0x1f6ec, 0x1f6f4...0x1f6fc, 0x1f7e0...0x1f7eb,
            0x1f90c...0x1f93a, 0x1f93c...0x1f945, 0x1f947...0x1f9ff, 0x1fa70...0x1faff, 0x20000...0x3fffd:
            true
        default: false
        }
    }

    /// Returns the text cut to at most `cells` cells; an ellipsis replaces the rest.
    public static func fit(_ text: String, _ cells: Int) -> String {
        if of(text) <= cells { return text }
        guard cells > 0 else { return "" }
        var fitted = ""
        var used = 0
        for character in text {
            let width = of(character)
            if used + width > cells - 1 { break }
            fitted.append(character)
            used += width
        }
        return fitted + "…"
    }

    /// Returns a name cut to at most `cells` cells; an ellipsis replaces its middle. Names of one kind differ at their ends.
    public static func fitName(_ name: String, _ cells: Int) -> String {
        if of(name) <= cells || cells < 8 { return fit(name, cells) }
        var end = ""
        var used = 0
        for character in name.reversed() {
            let width = of(character)
            if used + width > (cells - 1) / 2 { break }
            end = String(character) + end
            used += width
        }
        return fit(name, cells - used) + end
    }

    public static func pad(_ text: String, _ cells: Int, toLeft: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, cells - of(text)))
        return toLeft ? space + text : text + space
    }
}

internal import OpsSystem

/// Characters that a terminal can show: all, or only ASCII.
enum Charset: Sendable {
    case unicode
    case ascii

    /// Charset of the locale. If no locale is set, as in a minimal container, the terminal usually shows all
    /// characters.
    static var ofLocale: Charset {
        for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
            if let locale = Environment[name], !locale.isEmpty { return Charset(locale: locale) }
        }
        return .unicode
    }

    /// Charset of a locale such as `de_DE.UTF-8@euro`. Read byte by byte, since each run of opsctl does this.
    init(locale: String) {
        let letters = locale.utf8.drop { $0 != UInt8(ascii: ".") }.dropFirst().prefix(5)
        var codeset: [UInt8] = []
        for letter in letters where letter != UInt8(ascii: "-") { codeset.append(letter | 0x20) }
        self = codeset.starts(with: "utf8".utf8) ? .unicode : .ascii
    }

    /// ASCII replacements for the symbols, trees and bars of opsctl, one character for each.
    private static let replacements: [Unicode.Scalar: UInt8] = {
        let pairs: [(symbols: String, ascii: Unicode.Scalar)] = [
            ("✓", "+"), ("✗", "x"), ("⊘", "/"), ("↷", ">"), ("‼", "!"), ("●", "*"), ("❄", "#"), ("⏸", "="), ("◷", "@"),
            ("○", "o"), ("·▏▎▍░", "."), ("…", "~"), ("─", "-"), ("│", "|"), ("├", "|"), ("└", "`"), ("┤┬┴┼╭╮╯╰", "+"),
            ("█▉▊▋▌▆", "#"),
            ("→›", ">"),
            ("‹", "<"), ("↑", "^"), ("↓", "v"), ("⏎", "~"),
        ]
        var table: [Unicode.Scalar: UInt8] = [:]
        for pair in pairs {
            for symbol in pair.symbols.unicodeScalars { table[symbol] = UInt8(ascii: pair.ascii) }
        }
        return table
    }()

    /// Returns the bytes of a text. The symbols of opsctl are replaced in the whole text, also where a name contains
    /// them; other characters stay.
    func bytes(of text: String) -> [UInt8] {
        guard self == .ascii, !text.utf8.allSatisfy({ $0 < 0x80 }) else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            if let ascii = Self.replacements[scalar] {
                bytes.append(ascii)
            } else {
                bytes.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
            }
        }
        return bytes
    }
}

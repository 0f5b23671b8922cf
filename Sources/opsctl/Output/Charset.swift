internal import OpsSystem

/// Characters that a terminal can show: all, or only ASCII.
enum Charset: Sendable {
    case unicode
    case ascii

    /// Charset of the locale. If no locale is set, as in a minimal container, the terminal usually shows all
    /// characters.
    static var ofLocale: Charset {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { Environment[$0] }
        guard let name = names.first(where: { !$0.isEmpty }) else { return .unicode }
        let codeset = name.lowercased().split(separator: ".").dropFirst().first ?? ""
        return codeset.hasPrefix("utf-8") || codeset.hasPrefix("utf8") ? .unicode : .ascii
    }

    /// ASCII replacements for the symbols, trees and bars of opsctl, one character for each; other characters stay.
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

    /// Returns the bytes of a text that opsctl has composed.
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

internal import OpsWire

extension Unicode.Scalar {
    /// True if a terminal does not show the character as it is: control characters, characters that change the
    /// direction of text, and invisible ones.
    var isInvisible: Bool {
        if value < 0x7f { return value < 0x20 }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default:
            // Variation selectors (the last of these) only select the form of the character before them.
            return properties.isDefaultIgnorableCodePoint && !(0xfe00...0xfe0f).contains(value)
        }
    }
}

extension String {
    /// Returns the text with a question mark for each invisible character, so that a name cannot control the terminal
    /// or imitate another line.
    var printable: String {
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return self }
        var clean = ""
        for scalar in unicodeScalars {
            if scalar == "\n" || scalar == "\t" {
                clean += " "
            } else if scalar.isInvisible {
                clean += "?"
            } else {
                clean.unicodeScalars.append(scalar)
            }
        }
        return clean
    }
}

/// JSON for the terminal of a person.
enum JSONText {
    /// Returns equivalent JSON with invisible characters escaped, as in `\u202e`.
    static func escapingInvisible(_ bytes: [UInt8]) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x7f }) { return bytes }
        // Outside of strings JSON is ASCII, and its control characters are white space.
        var escaped = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar.value >= 0x7f && scalar.isInvisible {
                for unit in scalar.utf16 { escaped += escape(unit) }
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return Array(escaped.utf8)
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
}

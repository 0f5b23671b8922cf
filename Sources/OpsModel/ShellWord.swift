/// Words of a command line for a shell.
public enum ShellWord {
    /// Returns a word in quotes, which the shell reads as this word whatever characters it contains.
    public static func quoted(_ word: String) -> String {
        var quoted = "'"
        // The shell reads bytes: a quote with a combining character, which is one `Character`, is a quote.
        for scalar in word.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }

    /// Returns a word as a person would type it: in quotes only if it needs them.
    public static func typed(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
            default: "_-./:=,+@%".utf8.contains(byte)
            }
        }
        return isPlain && !word.isEmpty ? word : quoted(word)
    }
}

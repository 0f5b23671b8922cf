internal import Glibc
internal import OpsModel

@main struct Main {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        exit(Program.run(words, altered: altered(words)).code)
    }

    /// Returns the first word that is not UTF-8, which `CommandLine` has altered.
    private static func altered(_ words: [String]) -> String? {
        for (index, word) in words.enumerated() where word.utf8.contains(0xef) {
            guard let given = CommandLine.unsafeArgv[index + 1] else { break }
            if !word.utf8.elementsEqual(UnsafeRawBufferPointer(start: given, count: strlen(given))) { return word }
        }
        return nil
    }
}

/// Messages of Slurm's commands, as a line for people.
public enum SlurmMessage {
    /// Beginnings of a line that say nothing about the reason.
    private static let prefixes = [
        "sbatch: ", "squeue: ", "allocation failure: ", "error: ", "Batch job submission failed: ",
    ]
    /// Most characters of a line, and of the text of several. The user of the job can add any text to that of Slurm.
    private static let longestLine = 1000
    private static let longestText = 300
    /// Most lines that are shown. The reason is often on a line before the last, such as the name of a limit.
    private static let mostLines = 3

    /// Returns the last lines in one line, each without the name of the program. Empty: there is no message.
    public static func text(_ output: String) -> String {
        let lines = lines(output).suffix(mostLines).map(withoutPrefixes).filter { !$0.isEmpty }
        return String(lines.joined(separator: "; ").prefix(longestText))
    }

    /// Returns the last line without the name of the program.
    static func lastLine(_ output: String) -> String { lines(output).last.map(withoutPrefixes) ?? "" }

    private static func lines(_ output: String) -> [Substring] {
        output.split(separator: "\n").filter { $0.contains { !$0.isWhitespace } }
    }

    private static func withoutPrefixes(_ line: Substring) -> String {
        var line = line
        for prefix in prefixes where line.hasPrefix(prefix) { line = line.dropFirst(prefix.count) }
        return String(line.prefix(longestLine))
    }
}

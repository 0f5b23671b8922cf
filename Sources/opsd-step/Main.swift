internal import OpsSystem

/// The program that a job runs on its node: the fence, the command, the record of its exit.
@main struct Main {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 2, words[1].hasPrefix("/") else {
            Program.writeError("usage: opsd-step DIRECTORY-OF-THE-ATTEMPT")
            Program.exit(status: 64)
        }
        do {
            try Program.ensureStandardStreams()
            Program.exit(status: try Step(directory: words[1]).run())
        } catch {
            Program.writeError("opsd-step: \(error)")
            Program.exit(status: 74)
        }
    }
}

internal import OpsSlurm
internal import OpsSystem

/// The program that a job runs on its node: the fence, the command, the record of its exit.
@main struct Main {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 2 || words.count == 3, words[1].hasPrefix("/") else {
            Program.writeError("usage: opsd-step DIRECTORY-OF-THE-ATTEMPT | DIRECTORY-OF-ALL ATTEMPTS")
            Program.exit(status: 64)
        }
        do {
            try Program.ensureStandardStreams()
            if words.count == 3 { Program.exit(status: try JobTask(spool: words[1], batch: words[2]).run()) }
            var step = try Step(SpoolPaths(directory: words[1]), fence: 0, isShared: false)
            Program.exit(status: try step.run())
        } catch {
            Program.writeError("opsd-step: \(error)")
            Program.exit(status: 74)
        }
    }
}

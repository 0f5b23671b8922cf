internal import OpsSlurm
internal import OpsSystem

/// Removal of attempts from the spool, on the threads of their users: a user can have filled a directory with anything.
final class SpoolRemoval {
    private static let suffix = ".gone"
    private static let pause = TimeSpan.seconds(60)

    private let threads: UserThreads
    /// Directories that could not be removed, such as ones in which a process still writes.
    private var failed: [String] = []
    private var retryAt = MonotonicInstant.zero

    init(_ threads: UserThreads) { self.threads = threads }

    /// Returns whether a name in the spool is that of a removed attempt.
    static func isRemoved(_ name: String) -> Bool { name.contains(suffix) }

    /// Takes the directory of an attempt away from its name, and removes it later.
    func remove(_ paths: SpoolPaths) throws(SystemError) {
        var gone = paths.directory + Self.suffix
        var number = 0
        while Files.exists(gone) {
            number += 1
            gone = "\(paths.directory)\(Self.suffix)\(number)"
        }
        try Files.move(paths.directory, to: gone)
        removeLater(gone)
    }

    func removeLater(_ directory: String) {
        threads.run(for: Self.user(of: directory)) {
            do throws(SystemError) {
                try DirectoryTree(directory).remove()
                return true
            } catch {
                Program.writeError("opsd-slurm: \(directory): \(error)")
                return false
            }
        } then: { [unowned self] (isRemoved: Bool) in
            guard !isRemoved else { return }
            failed.append(directory)
            retryAt = Clock.read().monotonic + Self.pause
        }
    }

    /// Returns the user who owns a part of the directory.
    private static func user(of directory: String) -> UInt32 {
        ForeignDirectory.owner(of: SpoolPaths(directory: directory).run) ?? Identity.uid
    }

    /// Tries again what has failed.
    func timePassed(_ now: MonotonicInstant) {
        guard !failed.isEmpty, retryAt <= now else { return }
        let directories = failed
        failed = []
        for directory in directories { removeLater(directory) }
    }
}

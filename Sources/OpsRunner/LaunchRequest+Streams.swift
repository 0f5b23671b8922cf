internal import OpsLinux

/// Where the output goes.
extension LaunchRequest.Output {
    /// The files that are kept within a cap.
    var logs: [String] {
        switch self {
        case .log(let path): [path]
        case .split(let stdout, let stderr): [stdout, stderr]
        case .paths, .journal, .null: []
        }
    }

    /// The files that the user named.
    var named: (stdout: String, stderr: String)? {
        if case .paths(let stdout, let stderr) = self { (stdout, stderr) } else { nil }
    }

    /// Opens what the runner opens itself, for the time of `body`.
    func withStreams(
        owner: Spawn.User?, _ body: (Spawn.Stream, Spawn.Stream) throws(SpawnError) -> Int32
    ) throws(SpawnError) -> Int32 {
        switch self {
        case .null: return try body(.writing("/dev/null"), .likeStandardOutput)
        case .paths(let stdout, let stderr):
            return try body(.writing(stdout), stdout == stderr ? .likeStandardOutput : .writing(stderr))
        case .log(let path):
            let log = try Self.opened("standard output") { () throws(SystemError) in
                try LogFile.create(path, owner: owner.map { ($0.uid, $0.gid) })
            }
            let pid = try body(.descriptor(log.rawValue), .likeStandardOutput)
            _ = consume log
            return pid
        case .split(let stdout, let stderr):
            let out = try Self.opened("standard output") { () throws(SystemError) in
                try LogFile.create(stdout, owner: owner.map { ($0.uid, $0.gid) })
            }
            let err = try Self.opened("standard error") { () throws(SystemError) in
                try LogFile.create(stderr, owner: owner.map { ($0.uid, $0.gid) })
            }
            let pid = try body(.descriptor(out.rawValue), .descriptor(err.rawValue))
            _ = consume out
            _ = consume err
            return pid
        case .journal(let identifier):
            let stream = try Self.opened("journal") { () throws(SystemError) in
                try Journal.stream(identifier: identifier)
            }
            let pid = try body(.descriptor(stream.rawValue), .likeStandardOutput)
            _ = consume stream
            return pid
        }
    }

    private static func opened(
        _ step: String, _ open: () throws(SystemError) -> Descriptor
    ) throws(SpawnError) -> Descriptor {
        do throws(SystemError) {
            return try open()
        } catch {
            throw SpawnError(step: step, errno: error.errno)
        }
    }
}

internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Opening the files that output goes to.
extension LaunchRequest.Output {
    /// Opens the logs and streams that the runner opens itself, and calls `body` with them. New logs stay open in `logs`.
    func withStreams(
        owner: Spawn.User?, keeping logs: inout [LogFile],
        _ body: (Spawn.Stream, Spawn.Stream) throws(SpawnError) -> Int32
    ) throws(SpawnError) -> Int32 {
        switch self {
        case .null: return try body(.writing("/dev/null"), .likeStandardOutput)
        case .paths(let stdout, let stderr):
            return try body(.writing(stdout), stdout == stderr ? .likeStandardOutput : .writing(stderr))
        case .log(let path):
            let log = try Self.make(path, for: owner, "standard output", &logs)
            let pid = try body(.descriptor(log.rawValue), .likeStandardOutput)
            _ = consume log
            return pid
        case .split(let stdout, let stderr):
            let out = try Self.make(stdout, for: owner, "standard output", &logs)
            let err = try Self.make(stderr, for: owner, "standard error", &logs)
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

    private static func make(
        _ path: String, for owner: Spawn.User?, _ step: String, _ logs: inout [LogFile]
    ) throws(SpawnError) -> Descriptor {
        do throws(SystemError) {
            let log = try LogFile.create(path, owner: owner.map { ($0.uid, $0.gid) })
            logs.append(log)
            return try log.openForAppending()
        } catch {
            throw SpawnError(step: step, errno: error.errno)
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

internal import OpsSystem

/// Chooses the logs and outputs to remove so that all of them stay within a total: from the users who keep the most,
/// those of the operations submitted first. A user who writes much loses logs before users who write less.
struct LogTotal: Sendable {
    struct Log: Sendable {
        let operation: Int64
        /// User who submitted the operation; nil if it is not stored any more.
        var user: UInt32?
        let path: String
        /// Bytes of the log, and of its times, which are removed with it.
        let bytes: Int64
        let isOutputs: Bool

        func remove() throws(SystemError) {
            if isOutputs { try DirectoryTree(path).remove() } else { try Logs.removeLog(path) }
        }
    }

    /// Logs and outputs beyond the total.
    struct Excess: Sendable {
        /// Logs to remove, the oldest first.
        var logs: [Log] = []
        /// First error of a file or directory that cannot be measured; it counts nothing.
        var failure: SystemError?
    }

    /// Directory of the logs and that of the outputs, each with a directory for each thousand operations.
    let logs: String
    let outputs: String
    let limit: Int64

    /// Returns the logs of finished operations to remove, the oldest first, so that the others are within the limit.
    ///
    /// `owner`: returns the user of an operation; nil if it is not stored any more. `isFinished` is asked only about
    /// logs that would be removed.
    func excess(owner: (Int64) throws -> UInt32?, isFinished: (Int64) throws -> Bool) throws -> Excess {
        var excess = Excess()
        var thousands: Set<Int64> = []
        for directory in [logs, outputs] {
            thousands.formUnion(names(in: directory, &excess.failure).compactMap { Int64($0) })
        }
        var kept: [UInt32?: Int64] = [:]
        for thousand in thousands {
            for log in all(in: thousand, &excess.failure) {
                kept[try owner(log.operation), default: 0] += log.bytes
            }
        }
        let share = Self.share(of: Array(kept.values), within: limit)
        guard kept.values.contains(where: { $0 > share }) else { return excess }
        for thousand in thousands.sorted() {
            for log in all(in: thousand, &excess.failure).sorted(by: { $0.operation < $1.operation }) {
                let user = try owner(log.operation)
                guard let bytes = kept[user], bytes > share, try isFinished(log.operation) else { continue }
                kept[user] = bytes - log.bytes
                var log = log
                log.user = user
                excess.logs.append(log)
            }
        }
        return excess
    }

    /// Returns the bytes that each user may keep at most, so that all together are within the limit.
    static func share(of users: [Int64], within limit: Int64) -> Int64 {
        var rest = limit
        for (index, bytes) in users.sorted().enumerated() {
            let share = rest / Int64(users.count - index)
            // All users after this one keep more.
            if bytes > share { return share }
            rest -= bytes
        }
        return .max
    }

    /// Returns the logs and outputs of a thousand operations. `failure` gets the first error.
    private func all(in thousand: Int64, _ failure: inout SystemError?) -> [Log] {
        let found = entries(of: "\(logs)/\(thousand)", areOutputs: false, &failure)
        return found + entries(of: "\(outputs)/\(thousand)", areOutputs: true, &failure)
    }

    /// Returns the names in a directory; none if it is not there, or cannot be read.
    private func names(in directory: String, _ failure: inout SystemError?) -> [String] {
        guard Files.isDirectory(directory) else { return [] }
        do throws(SystemError) {
            return try Files.list(directory)
        } catch {
            failure = failure ?? error
            return []
        }
    }

    private func entries(of folder: String, areOutputs: Bool, _ failure: inout SystemError?) -> [Log] {
        var logs: [Log] = []
        let names = names(in: folder, &failure)
        let all = Set(names)
        for name in names {
            // Times without a log are counted and removed like a log.
            if name.hasSuffix(LogTimes.suffix), all.contains(String(name.dropLast(LogTimes.suffix.count))) { continue }
            guard let operation = name.split(separator: ".").first.flatMap({ Int64($0) }) else { continue }
            let path = "\(folder)/\(name)"
            var bytes: Int64 = 0
            do throws(SystemError) {
                let times = LogTimes.path(of: path)
                let more = all.contains(name + LogTimes.suffix) ? try Files.bytesOnDisk(of: times) : 0
                bytes = more + (try areOutputs ? DirectoryTree(path).bytesOnDisk() : Files.bytesOnDisk(of: path))
            } catch {
                // The file was removed meanwhile.
                if error.errno == SystemError.noSuchFile { continue }
                failure = failure ?? error
            }
            logs.append(Log(operation: operation, path: path, bytes: bytes, isOutputs: areOutputs))
        }
        return logs
    }
}

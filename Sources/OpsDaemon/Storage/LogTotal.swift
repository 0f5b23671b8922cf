internal import OpsSystem

/// The logs that are removed so that all of them stay within a total: those of the operations submitted first.
struct LogTotal: Sendable {
    struct Log: Sendable {
        let operation: Int64
        let path: String
        /// Together with its times, which are removed with it.
        let bytes: Int64
    }

    /// Directory of the logs, with a directory for each thousand operations.
    let directory: String
    let limit: Int64

    /// Returns logs, the oldest first, without which the others are within the limit.
    func excess() throws(SystemError) -> [Log] {
        guard Files.isDirectory(directory) else { return [] }
        let thousands = try Files.list(directory).compactMap { Int64($0) }.sorted()
        var total: Int64 = 0
        for thousand in thousands { total += try logs(in: thousand).reduce(0) { $0 + $1.bytes } }
        var excess: [Log] = []
        for thousand in thousands where total > limit {
            for log in try logs(in: thousand).sorted(by: { $0.operation < $1.operation }) where total > limit {
                total -= log.bytes
                excess.append(log)
            }
        }
        return excess
    }

    private func logs(in thousand: Int64) throws(SystemError) -> [Log] {
        let folder = "\(directory)/\(thousand)"
        var logs: [Log] = []
        let names = try Files.list(folder)
        let all = Set(names)
        for name in names {
            // Times without their log are counted and removed like one.
            if name.hasSuffix(LogTimes.suffix), all.contains(String(name.dropLast(LogTimes.suffix.count))) { continue }
            guard let operation = name.split(separator: ".").first.flatMap({ Int64($0) }) else { continue }
            do throws(SystemError) {
                let path = "\(folder)/\(name)"
                let times = LogTimes.path(of: path)
                let more = all.contains(name + LogTimes.suffix) ? try Files.bytesOnDisk(of: times) : 0
                logs.append(Log(operation: operation, path: path, bytes: try Files.bytesOnDisk(of: path) + more))
            } catch {
                // Removed meanwhile.
                guard error.errno == SystemError.noSuchFile else { throw error }
            }
        }
        return logs
    }
}

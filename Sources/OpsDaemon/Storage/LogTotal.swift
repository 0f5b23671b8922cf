internal import OpsSystem

/// The logs and outputs that are removed so that all of them stay within a total: those of the operations submitted first.
struct LogTotal: Sendable {
    struct Log: Sendable {
        let operation: Int64
        let path: String
        /// Together with its times, which are removed with it.
        let bytes: Int64
        let isOutputs: Bool

        func remove() throws(SystemError) {
            if isOutputs { return try DirectoryTree(path).remove() }
            try Files.remove(path)
            try Files.remove(LogTimes.path(of: path))
        }
    }

    /// Directory of the logs and that of the outputs, each with a directory for each thousand operations.
    let logs: String
    let outputs: String
    let limit: Int64

    /// Returns logs, the oldest first, without which the others are within the limit.
    func excess() throws(SystemError) -> [Log] {
        var thousands: Set<Int64> = []
        for directory in [logs, outputs] where Files.isDirectory(directory) {
            thousands.formUnion(try Files.list(directory).compactMap { Int64($0) })
        }
        var total: Int64 = 0
        for thousand in thousands { total += try all(in: thousand).reduce(0) { $0 + $1.bytes } }
        var excess: [Log] = []
        for thousand in thousands.sorted() where total > limit {
            for log in try all(in: thousand).sorted(by: { $0.operation < $1.operation }) where total > limit {
                total -= log.bytes
                excess.append(log)
            }
        }
        return excess
    }

    private func all(in thousand: Int64) throws(SystemError) -> [Log] {
        try entries(of: "\(logs)/\(thousand)", areOutputs: false)
            + entries(of: "\(outputs)/\(thousand)", areOutputs: true)
    }

    private func entries(of folder: String, areOutputs: Bool) throws(SystemError) -> [Log] {
        guard Files.isDirectory(folder) else { return [] }
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
                let bytes = try areOutputs ? DirectoryTree(path).bytesOnDisk() : Files.bytesOnDisk(of: path)
                logs.append(Log(operation: operation, path: path, bytes: bytes + more, isOutputs: areOutputs))
            } catch {
                // Removed meanwhile.
                guard error.errno == SystemError.noSuchFile else { throw error }
            }
        }
        return logs
    }
}

internal import OpsSystem

/// The logs that are removed so that all of them stay within a total: those of the operations submitted first.
struct LogTotal: Sendable {
    struct Log: Sendable {
        let operation: Int64
        let path: String
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
        for name in try Files.list(folder) {
            guard let operation = name.split(separator: ".").first.flatMap({ Int64($0) }) else { continue }
            do throws(SystemError) {
                let path = "\(folder)/\(name)"
                logs.append(Log(operation: operation, path: path, bytes: try Files.bytesOnDisk(of: path)))
            } catch {
                // Removed meanwhile.
                guard error.errno == SystemError.noSuchFile else { throw error }
            }
        }
        return logs
    }
}

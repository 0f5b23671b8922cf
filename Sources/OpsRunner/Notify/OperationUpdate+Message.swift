internal import OpsExecutor
internal import OpsSystem

extension OperationUpdate {
    /// Longest result and longest status, in bytes.
    static let textLimit = 4096

    /// Reads a message of the notify protocol: lines of NAME=value. Unknown names are ignored.
    init(message: String) {
        self.init()
        for line in message.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            let value = line[line.index(after: equals)...]
            switch line[..<equals] {
            case "STATUS": status = OperationUpdate.bounded(value)
            case "X_OPS_RESULT": if value.utf8.count <= OperationUpdate.textLimit { result = String(value) }
            case "X_OPS_FINISHED": if let status = UInt8(value) { finished = Int32(status) }
            case "X_OPS_PROGRESS": setProgress(value)
            case "EXTEND_TIMEOUT_USEC":
                if let microseconds = Int64(value), microseconds >= 0 {
                    extendTimeout = .nanoseconds(microseconds.clampedProduct(1000))
                }
            default: break
            }
        }
    }

    /// Reads `done/total`, or `done` alone.
    private mutating func setProgress(_ value: Substring) {
        let parts = value.split(separator: "/", omittingEmptySubsequences: false)
        guard let done = parts.first.flatMap({ Int64($0) }), done >= 0, parts.count <= 2 else { return }
        if parts.count == 2 {
            guard let total = Int64(parts[1]), total >= 0 else { return }
            progressTotal = total
        }
        progressDone = done
    }

    private static func bounded(_ text: Substring) -> String {
        guard text.utf8.count > textLimit else { return String(text) }
        return String(decoding: text.utf8.prefix(textLimit), as: UTF8.self)
    }

    /// Replaces values by those of a later update.
    mutating func merge(_ later: OperationUpdate) {
        status = later.status ?? status
        if later.progressDone != nil {
            progressDone = later.progressDone
            progressTotal = later.progressTotal ?? progressTotal
        }
        result = later.result ?? result
        // The first exit status counts: a finished operation stays finished.
        finished = finished ?? later.finished
        // A shorter extension takes back nothing.
        if let longer = later.extendTimeout { extendTimeout = max(extendTimeout ?? longer, longer) }
        hasOutputs = hasOutputs || later.hasOutputs
    }
}

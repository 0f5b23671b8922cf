internal import OpsSystem

extension Told {
    /// The longest text handed to dependents, and the longest status.
    static let textLimit = 4096

    /// Reads a message of the notify protocol: lines of NAME=value, of which unknown ones are passed over.
    init(message: String) {
        self.init()
        for line in message.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            let value = line[line.index(after: equals)...]
            switch line[..<equals] {
            case "STATUS": status = Told.bounded(value)
            case "X_OPS_RESULT": if value.utf8.count <= Told.textLimit { result = String(value) }
            case "X_OPS_FINISHED": finished = Int32(value)
            case "X_OPS_PROGRESS": setProgress(value)
            case "EXTEND_TIMEOUT_USEC":
                if let microseconds = Int64(value), microseconds >= 0 {
                    extendTimeout = microseconds.clampedProduct(1000)
                }
            default: break
            }
        }
    }

    /// `done/total`, or `done` alone.
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

    /// Lays what was said later over what was said before.
    mutating func merge(_ later: Told) {
        status = later.status ?? status
        if later.progressDone != nil {
            progressDone = later.progressDone
            progressTotal = later.progressTotal ?? progressTotal
        }
        result = later.result ?? result
        // The first word on its end counts: what finished stays finished.
        finished = finished ?? later.finished
        extendTimeout = later.extendTimeout ?? extendTimeout
    }
}

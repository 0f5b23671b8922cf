public import OpsModel

/// Records of attempts one after another, as bytes that grow at their end: `@12.1`, the lines of the record, `.`. The last
/// entry of an attempt counts.
public enum RecordEntries {
    public static func bytes(_ attempt: AttemptID, _ record: AttemptRecord) -> [UInt8] {
        Array("@\(attempt.spoolName)\n".utf8) + record.bytes + Array(".\n".utf8)
    }

    /// Skips an entry that is not complete: the machine may have stopped while it was written.
    public static func read(_ bytes: [UInt8]) -> [AttemptID: AttemptRecord] {
        var found: [AttemptID: AttemptRecord] = [:]
        var attempt: AttemptID?
        var begin = bytes.startIndex
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.first == UInt8(ascii: "@") {
                attempt = AttemptID(spoolName: String(decoding: line.dropFirst(), as: UTF8.self))
                begin = min(line.endIndex + 1, bytes.endIndex)
            } else if line.elementsEqual([UInt8(ascii: ".")]), line.endIndex < bytes.endIndex {
                if let attempt { found[attempt] = AttemptRecord(Array(bytes[begin..<line.startIndex])) }
                attempt = nil
            }
        }
        return found
    }
}

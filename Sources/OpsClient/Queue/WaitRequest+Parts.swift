public import OpsWire

extension WaitRequest {
    /// Returns the requests that together wait for these operations. Consecutive ids are one reference, and no request
    /// has more references than the daemon accepts.
    public static func parts(for ids: [Int64]) -> [WaitRequest] {
        var ranges: [ClosedRange<Int64>] = []
        for id in ids.sorted() {
            if let last = ranges.last, id <= last.upperBound + 1 {
                ranges[ranges.count - 1] = last.lowerBound...id
            } else {
                ranges.append(id...id)
            }
        }
        let refs = ranges.map { range in
            range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
        }
        return stride(from: 0, to: refs.count, by: Limits.references).map { start in
            WaitRequest.with { $0.selection.refs = Array(refs[start...].prefix(Limits.references)) }
        }
    }
}

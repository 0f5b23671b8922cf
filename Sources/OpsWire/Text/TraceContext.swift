/// Identifiers of traces, as in W3C Trace Context and OpenTelemetry.
///
/// They are computed, not stored: processes get them in `TRACEPARENT`, and an export of the graph has the same ones.
public enum TraceContext {
    /// Returns the trace id of a graph of this database: 32 hexadecimal digits.
    public static func trace(instance: String, graph: Int64) -> String {
        let text = "\(instance)/g\(graph)"
        return hexadecimal(hash(text, seed: 1)) + hexadecimal(hash(text, seed: 2))
    }

    /// Returns the id of the span of one attempt. Attempt 0 is the whole operation, operation 0 the graph.
    public static func span(trace: String, operation: Int64, attempt: Int = 0) -> String {
        hexadecimal(hash("\(trace)/\(operation)/\(attempt)", seed: 3))
    }

    /// Returns the value of `TRACEPARENT` for a sampled trace.
    public static func parent(trace: String, span: String) -> String { "00-\(trace)-\(span)-01" }

    /// Hashes with FNV-1a and a final mixing step, so that texts that differ in one digit get very different values.
    /// Never returns 0, which is not a valid id.
    private static func hash(_ text: String, seed: UInt64) -> UInt64 {
        var value: UInt64 = 0xcbf2_9ce4_8422_2325 ^ (seed &* 0x9e37_79b9_7f4a_7c15)
        for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        value ^= value >> 31
        return value == 0 ? seed : value
    }

    private static func hexadecimal(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

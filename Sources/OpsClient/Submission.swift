public import OpsWire

/// Operations to submit, as JSON.
public struct Submission: Sendable {
    /// Everything except the operations.
    public var terms = BeginSubmissionRequest()
    /// Environment of this process that the operations get instead of `terms.capture`.
    public var surroundings: Surroundings?
    private let text: [UInt8]
    /// Ranges of the operations in the text; nil if the text is a single operation.
    private let operations: [Range<Int>]?

    /// Size above which submissions are sent in parts: opsd accepts messages of 64 MiB, but holds each one in memory
    /// while it reads it.
    static let messageLimit = 4 << 20
    static let partSize = 4 << 20

    /// Creates a submission of one operation.
    public init(_ operation: [UInt8]) {
        text = operation
        operations = nil
    }

    /// Creates a submission of operations that are parts of a text.
    public init(_ operations: [Range<Int>], in text: [UInt8]) {
        self.text = text
        self.operations = operations
    }

    /// Message with the whole submission; nil if that would be too large.
    ///
    /// The environment is written without an intermediate value, because `opsctl submit` is started thousands of times.
    var message: [UInt8]? {
        guard operations == nil || text.count <= Self.messageLimit else { return nil }
        return Call.frame(of: SubmitRequest.self, capacity: text.count + 1 << 12) { writer in
            writer.beginObject()
            terms.writeMembers(to: &writer)
            if let surroundings {
                writer.key("capture")
                surroundings.write(to: &writer)
            }
            writer.key("operations")
            if let operations {
                writer.raw(elements(operations[...]))
            } else {
                writer.beginArray()
                writer.raw(text)
                writer.endArray()
            }
            writer.endObject()
        }
    }

    /// The first request of a submission in parts.
    var beginning: BeginSubmissionRequest {
        var terms = terms
        if let surroundings { terms.capture = surroundings.capture }
        return terms
    }

    /// The requests with the operations of a submission in parts.
    var parts: some Sequence<AddOperationsRequest> {
        let operations = operations ?? []
        return sequence(state: 0) { next in
            guard next < operations.count else { return nil }
            let (first, start) = (next, operations[next].lowerBound)
            repeat {
                next += 1
            } while next < operations.count
                && operations[next].upperBound - start < Self.partSize
            return .with { $0.operations = RawElements(elements(operations[first..<next])) }
        }
    }

    /// The operations as an array, for messages other than submissions.
    public var elements: RawElements {
        guard let operations else { return RawElements([UInt8(ascii: "[")] + text + [UInt8(ascii: "]")]) }
        return RawElements(elements(operations[...]))
    }

    /// Returns an array of the operations in these ranges.
    private func elements(_ ranges: ArraySlice<Range<Int>>) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for range in ranges { writer.raw(text[range]) }
        writer.endArray()
        return writer.bytes
    }
}

extension Connection {
    /// Submits the operations: all of them or none.
    public func submit(_ submission: Submission) throws(ClientError) -> SubmitReply {
        if let message = submission.message { return try reply(to: message) }
        _ = try call(submission.beginning)
        for part in submission.parts { _ = try call(part) }
        return try call(CommitSubmissionRequest())
    }
}

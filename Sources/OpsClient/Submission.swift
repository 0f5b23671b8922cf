public import OpsWire

/// Operations to store, as JSON.
public struct Submission: Sendable {
    /// Everything that the submission says beside its operations.
    public var terms = BeginSubmissionRequest()
    /// Surroundings of this process that the operations get in place of `terms.capture`.
    public var surroundings: Surroundings?
    private let text: [UInt8]
    /// Places of the operations in the text; nil: the text is one operation.
    private let operations: [Range<Int>]?

    /// Larger submissions go in parts: opsd accepts messages of 64 MiB, but holds each in memory while it reads it.
    static let messageLimit = 4 << 20
    static let partSize = 4 << 20

    /// Creates a submission of one operation.
    public init(_ operation: [UInt8]) {
        text = operation
        operations = nil
    }

    /// Creates a submission of operations that lie in a text.
    public init(_ operations: [Range<Int>], in text: [UInt8]) {
        self.text = text
        self.operations = operations
    }

    /// The message of the whole submission; nil: it is too large for one.
    ///
    /// The surroundings are written without a value in between: `opsctl submit` is started thousands of times.
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

    /// The operations as an array, for messages that are no submission.
    public var elements: RawElements {
        guard let operations else { return RawElements([UInt8(ascii: "[")] + text + [UInt8(ascii: "]")]) }
        return RawElements(elements(operations[...]))
    }

    /// Returns an array of the operations at these places.
    private func elements(_ places: ArraySlice<Range<Int>>) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for place in places { writer.raw(text[place]) }
        writer.endArray()
        return writer.bytes
    }
}

extension Connection {
    /// Stores the operations of a submission: all of them or none.
    public func submit(_ submission: Submission) throws(ClientError) -> SubmitReply {
        if let message = submission.message { return try reply(to: message) }
        _ = try call(submission.beginning)
        for part in submission.parts { _ = try call(part) }
        return try call(CommitSubmissionRequest())
    }
}

internal import OpsSystem

/// The bytes that are on disk already, and the version of the file that they belong to.
struct ResumePoint: Hashable, Sendable {
    /// First byte to request. The last byte on disk is requested again: so the answer for a complete file has one byte,
    /// and 416 always means that the file on the server has changed.
    var offset: Int64
    var validator: Validator
    var length: Int64?
}

/// The meaning of a response for a transfer.
enum Answer: Hashable, Sendable {
    /// The body follows.
    case content(Content)
    case redirect(String)
    /// The bytes on disk cannot be continued; the text says why.
    case startAgain(String)
    case failure(Failure)

    struct Content: Hashable, Sendable {
        /// Position of the first byte of a part; nil: the body is the whole file.
        var start: Int64?
        /// Length of the whole file, where the server says it.
        var length: Int64?
        var validator: Validator?
    }
}

extension ResponseHead {
    /// Returns the meaning of this response to a request for the rest of a file, or for all of it.
    func answer(to resume: ResumePoint?, checksumIsKnown: Bool) -> Answer {
        switch status {
        case 200: return whole(checksumIsKnown: checksumIsKnown)
        case 206:
            if let resume { return part(resume) }
            return .failure(Failure(.wrongContent, "the server sent a part (206) instead of the whole file"))
        case 301, 302, 303, 307, 308:
            if let location = value(of: .location), !location.isEmpty { return .redirect(location) }
            let fault = values(of: .location).count > 1 ? "to several addresses" : "without an address"
            return .failure(Failure(.refused, "the server redirects (\(status)) \(fault)"))
        case 416 where resume != nil: return .startAgain("the server does not have the requested range (416)")
        case 408, 425, 429, 500..<600:
            let wait = retryAfter
            let hint = wait.map { ", retry after \($0) s" } ?? ""
            return .failure(Failure(.retryable, "the server answered \(status)\(hint)", retryAfter: wait))
        case 201..<300: return .failure(Failure(.wrongContent, "the server answered \(status), not with a file"))
        default: return .failure(Failure(.refused, "the server answered \(status)"))
        }
    }

    private func whole(checksumIsKnown: Bool) -> Answer {
        if let failure = codingFailure { return .failure(failure) }
        var length: Int64?
        if !isChunked {
            let lengths = values(of: .contentLength)
            length = lengths.first.flatMap(ByteCount.parse)
            if !lengths.isEmpty, length == nil || lengths.contains(where: { $0 != lengths[0] }) {
                let said = lengths.joined(separator: ", ")
                return .failure(Failure(.wrongContent, "the server sends an invalid Content-Length: \(said)"))
            }
            if length == nil && !checksumIsKnown {
                // The end of such a body looks like a broken connection.
                return .failure(
                    Failure(.wrongContent, "the server does not send the length of the file; give --sha256"))
            }
        }
        return .content(Answer.Content(start: nil, length: length, validator: Validator(self)))
    }

    private func part(_ resume: ResumePoint) -> Answer {
        if let failure = codingFailure { return .failure(failure) }
        guard resume.validator.matches(self) else { return .startAgain("the file has changed on the server") }
        let said = values(of: .contentRange).joined(separator: ", ")
        guard let range = value(of: .contentRange).flatMap(ContentRange.init) else {
            return .startAgain("the server sent a part with an invalid Content-Range: \(said)")
        }
        let count = range.last - range.first + 1
        let lengthIsRight = values(of: .contentLength).allSatisfy { ByteCount.parse($0) == count }
        guard range.first == resume.offset, let total = range.total, range.last == total - 1,
            resume.length == nil || resume.length == total, lengthIsRight
        else {
            return .startAgain("the server sent another part than that from byte \(resume.offset): \(said)")
        }
        return .content(Answer.Content(start: resume.offset, length: total, validator: resume.validator))
    }

    private var isChunked: Bool { values(of: .transferEncoding).contains { $0.lowercased() == "chunked" } }

    /// Failure if the body is encoded, and so is not the plain content of the file.
    private var codingFailure: Failure? {
        let contents = values(of: .contentEncoding).filter { $0.lowercased() != "identity" }
        let transfers = values(of: .transferEncoding).map { $0.lowercased() }
        guard contents.isEmpty, transfers.isEmpty || transfers == ["chunked"] else {
            let said = (contents + transfers).joined(separator: ", ")
            return Failure(.wrongContent, "the server encodes the file, against the request: \(said)")
        }
        return nil
    }

    /// Seconds to wait, at most a year.
    private var retryAfter: Int64? {
        guard let text = value(of: .retryAfter) else { return nil }
        let seconds: Int64
        if let number = ByteCount.parse(text) {
            seconds = number
        } else if let date = HTTPDate.seconds(text) {
            seconds =
                date - (value(of: .date).flatMap(HTTPDate.seconds) ?? Clock.read().wall.nanoseconds / 1_000_000_000)
        } else {
            return nil
        }
        return min(max(seconds, 0), 31_536_000)
    }
}

import Testing

@testable import OpsTransfer

/// Tests of `Answer`: whether a response continues a file, restarts it or fails. They use no network.
@Suite struct AnswerTests {
    private func head(_ status: Int, _ lines: String...) -> ResponseHead {
        ResponseHead(lines: ["HTTP/1.1 \(status) Text\r\n"] + lines + ["\r\n"])
    }

    private let resume = ResumePoint(offset: 5, validator: .etag("\"a\""), length: 10)

    private func part(_ range: String, etag: String = "\"a\"") -> Answer {
        head(206, "Content-Range: \(range)", "ETag: \(etag)").answer(to: resume, checksumIsKnown: false)
    }

    private func startsAgain(_ answer: Answer) -> Bool {
        if case .startAgain = answer { true } else { false }
    }

    @Test func `only the rest of the same version continues a file`() {
        let content = Answer.Content(start: 5, length: 10, validator: resume.validator)
        #expect(part("bytes 5-9/10") == .content(content))
        #expect(part("BYTES 5-9/10") == .content(content))
        for range in [
            "bytes 4-9/10", "bytes 6-9/10", "bytes 5-8/10", "bytes 5-10/11", "bytes 5-9/*", "bytes 5-9", "bytes */10",
            "bytes 9-5/10", "bytes -5-9/10", "bytes +5-9/10", "bytes 5-9/9", "lines 5-9/10", "5-9/10", "",
            "bytes 5-9/10, bytes 5-9/10", "bytes 5-99999999999999999999/10",
            "bytes 0-9223372036854775807/*", "bytes 5-9223372036854775807/*",
            "bytes 5-9223372036854775807/9223372036854775807", "bytes 5-9223372036854775806/9223372036854775807",
        ] {
            #expect(startsAgain(part(range)), "\(range)")
        }
        #expect(startsAgain(part("bytes 5-9/10", etag: "\"b\"")))
        #expect(startsAgain(part("bytes 5-9/10", etag: "W/\"a\"")))
    }

    @Test func `a partial response whose length differs from its range is rejected`() {
        let said = head(206, "Content-Range: bytes 5-9/10", "ETag: \"a\"", "Content-Length: 6")
        #expect(startsAgain(said.answer(to: resume, checksumIsKnown: false)))
    }

    @Test func `a partial response can supply the total length that the first response did not state`() {
        let unknown = ResumePoint(offset: 5, validator: .etag("\"a\""), length: nil)
        let said = head(206, "Content-Range: bytes 5-9/10", "ETag: \"a\"")
        let content = Answer.Content(start: 5, length: 10, validator: unknown.validator)
        #expect(said.answer(to: unknown, checksumIsKnown: false) == .content(content))
    }

    @Test(
        arguments: [
            ("120", 120), ("0", 0), ("99999999999", 31_536_000), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
            ("Sun, 06 Nov 1994 08:49:07 GMT", 0), ("soon", nil), ("-5", nil), ("1.5", nil), ("", nil),
        ] as [(String, Int64?)])
    func `Retry-After is a number of seconds or a date`(text: String, seconds: Int64?) {
        let said = head(503, "Retry-After: \(text)", "Date: Sun, 06 Nov 1994 08:49:37 GMT")
        guard case .failure(let failure) = said.answer(to: nil, checksumIsKnown: false) else {
            Issue.record("503 is a failure")
            return
        }
        #expect(failure.retryAfter == seconds)
    }

    @Test func `a redirect needs exactly one address`() {
        func answer(_ lines: String...) -> Answer {
            ResponseHead(lines: ["HTTP/1.1 302 Found"] + lines + [""]).answer(to: nil, checksumIsKnown: false)
        }
        #expect(answer("Location: /a") == .redirect("/a"))
        #expect(answer() == .failure(Failure(.refused, "the server redirects (302) without an address")))
        #expect(
            answer("Location: /a", "Location: /b")
                == .failure(Failure(.refused, "the server redirects (302) to several addresses")))
    }

    @Test func `only strong validators are used`() {
        let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(Validator(head(200, "ETag: \"a\"")) == .etag("\"a\""))
        #expect(Validator(head(200, "ETag: \"\"")) == .etag("\"\""))
        for line in ["ETag: W/\"a\"", "ETag: a", "ETag: \"a", "ETag: \"a\"b\"", "ETag: \"", "ETag:", "ETag: \"a b\""] {
            #expect(Validator(head(200, line)) == nil, "\(line)")
        }
        #expect(Validator(head(200, "ETag: \"a\"", "ETag: \"b\"")) == nil)
        let old = "Last-Modified: Sun, 06 Nov 1994 08:48:37 GMT"
        let new = "Last-Modified: Sun, 06 Nov 1994 08:48:38 GMT"
        #expect(Validator(head(200, old, date)) == .modified("Sun, 06 Nov 1994 08:48:37 GMT"))
        #expect(Validator(head(200, new, date)) == nil)
        #expect(Validator(head(200, old)) == nil, "without Date, the server's clock is unknown")
        #expect(Validator(head(200, old, date, "ETag: W/\"a\"")) == nil, "a weak tag rules out Last-Modified as well")
    }

    @Test func `an error shows no control characters of a server`() {
        let said = head(200, "Content-Length: 1", "Content-Encoding: \u{1B}[31mgz\u{9B}\u{7F}")
        guard case .failure(let failure) = said.answer(to: nil, checksumIsKnown: false) else {
            Issue.record("an encoding is a failure")
            return
        }
        #expect(failure.message.hasSuffix(": ?[31mgz??"))
    }

    @Test func `the headers of an interim response are discarded`() {
        let lines = ["HTTP/1.1 103 Early", "ETag: \"x\"", "", "HTTP/1.1 200 OK", "Content-Length: 3", ""]
        let head = ResponseHead(lines: lines)
        #expect(head.isComplete && head.status == 200)
        #expect(head.values(of: .etag).isEmpty)
    }

    @Test func `the total size of all headers is limited`() {
        var head = ResponseHead()
        for _ in 0..<700 { head.add("X-Padding: " + String(repeating: "x", count: 100)) }
        #expect(head.isTooLarge)
    }

    @Test func `trailers count for the limit of the headers`() {
        var head = ResponseHead(lines: ["HTTP/1.1 200 OK", ""])
        head.addTrailer(byteCount: ResponseHead.limit - 100)
        #expect(!head.isTooLarge)
        head.addTrailer(byteCount: 100)
        #expect(head.isTooLarge)
    }
}

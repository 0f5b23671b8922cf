internal import OpsSystem

/// A file to fetch.
public struct DownloadRequest: Sendable {
    public var address: WebAddress
    /// Path of the file. Its directory must exist.
    public var target: String
    /// The checksum of the whole file, where it is known.
    public var checksum: Checksum?
    /// Headers for the origin of `address` alone.
    public var headers = HeadersFile.none
    /// Bytes a second; 0: no limit.
    public var rateLimit: Int64 = 0
    /// Seconds without a byte after which the attempt fails.
    public var stallLimit = 60

    public init(address: WebAddress, target: String) {
        self.address = address
        self.target = target
    }
}

/// One attempt to bring a file to this machine: it follows redirects, continues what earlier attempts have left, starts
/// again once where a server contradicts itself, and puts the file in place when every byte is right.
public final class Download {
    public enum Event: Sendable {
        /// A sentence for the user: the transfer goes on.
        case notice(String)
        /// The transfer is over, with the size of the file. Nothing follows.
        case ended(Result<Int64, Failure>)
    }

    /// Greatest number of redirects.
    static let redirectLimit = 10

    let request: DownloadRequest
    private let engine: Engine
    private let report: (Event) -> Void
    private let partial: PartialFile
    private var exchange: Exchange?

    private var address: WebAddress
    private var redirects = 0
    /// True after a redirect to another origin: from then on the user's headers are not sent, not even back at the
    /// first origin.
    private var hasLeftOrigin = false
    /// The bytes that the request under way wants to continue.
    private var resume: ResumePoint?
    private var hasStartedAgain = false
    /// The body that is being received.
    private var content: Answer.Content?
    /// The step after an exchange that was stopped.
    private var next: Next?

    private enum Next {
        case follow(String)
        case startAgain(String)
        case fail(Failure)
    }

    /// Opens the partial file beside the target, under its lock. `report` is called from `start` and from the engine's
    /// `step`, with `ended` exactly once unless the download is cancelled.
    public init(
        _ request: DownloadRequest, on engine: Engine, report: @escaping (Event) -> Void
    ) throws(Failure) {
        self.request = request
        self.engine = engine
        self.report = report
        address = request.address
        partial = try PartialFile(target: request.target)
    }

    /// Number of bytes on disk, and of the whole file where it is known.
    public var progress: (done: Int64, total: Int64?) { (partial.size, content?.length ?? partial.record?.length) }

    /// Sends the first request.
    public func start() { ask() }

    /// Ends the transfer without reporting it, and keeps what a later one can continue.
    public func cancel() {
        if let exchange { engine.cancel(exchange) }
        exchange = nil
        closePartial(after: nil)
    }

    private func ask() {
        content = nil
        next = nil
        resume = resumePoint
        var headers = ["Accept-Encoding: identity"]
        if !hasLeftOrigin { headers += request.headers.lines }
        if let resume { headers += ["Range: bytes=\(resume.offset)-", "If-Range: \(resume.validator.text)"] }
        do throws(Failure) {
            exchange = try engine.start(
                ExchangeRequest(
                    address: address, headers: headers, rateLimit: request.rateLimit, stallLimit: request.stallLimit),
                self)
        } catch {
            finish(.failure(error))
        }
    }

    /// Bytes can be continued where the same address, after the same redirects, has the rest of them.
    private var resumePoint: ResumePoint? {
        guard let record = partial.record, partial.size > 0, !hasStartedAgain, record.address == request.address.text,
            record.resource == address.resource
        else { return nil }
        return ResumePoint(offset: partial.size - 1, validator: record.validator, length: record.length)
    }

    private func follow(_ location: String) {
        redirects += 1
        guard redirects <= Download.redirectLimit else {
            return finish(
                .failure(Failure(.refused, "\(request.address): more than \(Download.redirectLimit) redirects")))
        }
        do throws(Failure) {
            address = try address.following(location)
        } catch {
            return finish(.failure(error))
        }
        if address.origin != request.address.origin { hasLeftOrigin = true }
        ask()
    }

    /// Asks for the whole file, once.
    private func startAgain(because reason: String) {
        guard !hasStartedAgain else { return finish(.failure(Failure(.wrongContent, "\(address): \(reason)"))) }
        report(.notice("\(address): \(reason); starting again"))
        hasStartedAgain = true
        do throws(SystemError) {
            try partial.startAgain(nil)
        } catch {
            return finish(.failure(Failure(error)))
        }
        address = request.address
        redirects = 0
        hasLeftOrigin = false
        ask()
    }

    private func completeBody() {
        guard let content else { return finish(.failure(Failure(.retryable, "\(address): no content"))) }
        guard content.length == nil || content.length == partial.size else {
            let sizes = "\(partial.size) of \(content.length ?? 0) bytes"
            return finish(.failure(Failure(.retryable, "\(address): the answer ended after \(sizes)")))
        }
        do throws(SystemError) {
            if let wanted = request.checksum {
                let found = try partial.checksum()
                if found != wanted {
                    let reason = "the checksum is \(found), not \(wanted)"
                    if content.start != nil { return startAgain(because: reason) }
                    return finish(.failure(Failure(.wrongContent, "\(address): \(reason)")))
                }
            }
            try partial.finish()
        } catch {
            return finish(.failure(Failure(error)))
        }
        report(.ended(.success(partial.size)))
    }

    private func finish(_ result: Result<Int64, Failure>) {
        if case .failure(let failure) = result { closePartial(after: failure.kind) }
        report(.ended(result))
    }

    private func closePartial(after kind: Failure.Kind?) {
        do throws(SystemError) {
            if kind == .wrongContent { try partial.discard() } else { try partial.close() }
        } catch {
            report(.notice("\(error)"))
        }
    }
}

extension Download: ExchangeReceiver {
    func receive(_ head: ResponseHead) -> Bool {
        switch head.answer(to: resume, checksumIsKnown: request.checksum != nil) {
        case .content(let content): return begin(content)
        case .redirect(let location): next = .follow(location)
        case .startAgain(let reason): next = .startAgain(reason)
        case .failure(var failure):
            failure.message = "\(address): \(failure.message)"
            next = .fail(failure)
        }
        return false
    }

    private func begin(_ content: Answer.Content) -> Bool {
        self.content = content
        do throws(SystemError) {
            if content.start != nil {
                try partial.continueFromLastByte()
            } else {
                if resume != nil { report(.notice("\(address): the server does not continue; starting again")) }
                try partial.startAgain(record(of: content))
            }
        } catch {
            next = .fail(Failure(error))
            return false
        }
        return true
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do throws(SystemError) {
            if try unsafe !partial.append(bytes) {
                next = .startAgain("the file has changed on the server, though its validator has not")
                return false
            }
        } catch {
            next = .fail(Failure(error))
            return false
        }
        if let length = content?.length, partial.size > length {
            next = .fail(Failure(.wrongContent, "\(address): more than the \(length) bytes of the file"))
            return false
        }
        return true
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        exchange = nil
        switch (end, next) {
        case (_, .follow(let location)?): follow(location)
        case (_, .startAgain(let reason)?): startAgain(because: reason)
        case (_, .fail(let failure)?): finish(.failure(failure))
        case (.failed(let failure), nil): finish(.failure(failure))
        case (.complete, nil), (.stopped, nil): completeBody()
        }
    }

    private func record(of content: Answer.Content) -> ResumeRecord? {
        guard let validator = content.validator else { return nil }
        return ResumeRecord(
            address: request.address.text, resource: address.resource, validator: validator, length: content.length,
            synced: 0, boot: "")
    }
}

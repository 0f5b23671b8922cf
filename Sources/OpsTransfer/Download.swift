internal import Glibc
internal import OpsSystem

/// A file to fetch.
public struct DownloadRequest: Sendable {
    public var address: WebAddress
    /// Path of the file. Its directory must exist.
    public var target: String
    /// The checksum of the whole file, where it is known.
    public var checksum: Checksum?
    /// Headers that are sent only to the origin of `address`.
    public var headers = HeadersFile.none
    /// Bytes per second; 0: no limit.
    public var rateLimit: Int64 = 0
    /// Seconds without a byte after which the attempt fails.
    public var stallLimit = 60
    /// Rights with which the file and its partial file are opened; nil: those of the process.
    public var rights: FileRights?
    /// Permissions that a new file does not get.
    public var umask: UInt32

    public init(address: WebAddress, target: String) {
        self.address = address
        self.target = target
        // The mask can only be read by setting it.
        umask = UInt32(Glibc.umask(0o777))
        _ = Glibc.umask(mode_t(umask))
    }
}

/// One attempt to fetch a file: follows redirects, resumes the partial file of earlier attempts, starts again once if
/// the server contradicts itself, and renames the file into place when it is complete and verified.
public final class Download {
    public enum Event: Sendable {
        /// A message for the user; the transfer continues.
        case notice(String)
        /// The transfer has ended, with the size of the file. This is the last report.
        case ended(Result<Int64, Failure>)
    }

    /// Maximum number of redirects.
    static let redirectLimit = 10

    public let request: DownloadRequest
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
    /// Action to take when the current exchange has stopped.
    private var next: Next?
    private var isPaused = false
    /// True if the exchange under way was paused: its connection may end during the pause, which is not a failure.
    private var hasBeenPaused = false
    /// True if the next request waits for the end of a pause.
    private var isWaitingToAsk = false
    private var verification: PartialFile.Verification?

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
        let target = request.target
        if let rights = request.rights {
            partial = try rights.attempt { () throws(Failure) in try PartialFile(target: target) }
        } else {
            partial = try PartialFile(target: target)
        }
    }

    /// Calls `body` with the rights of the request.
    private func perform<T>(_ body: () throws(SystemError) -> T) throws(SystemError) -> T {
        guard let rights = request.rights else { return try body() }
        return try rights.perform(body)
    }

    /// Number of bytes on disk, and of the whole file where it is known.
    public var progress: (done: Int64, total: Int64?) { (partial.size, content?.length ?? partial.record?.length) }

    /// Sends the first request.
    public func start() { ask() }

    /// Ends the transfer without a report, and keeps the partial file if a later one can resume it.
    public func cancel() {
        stop()
        closePartial(keeping: true)
    }

    /// Ends the transfer without a report, and removes the partial file.
    public func discard() {
        stop()
        closePartial(keeping: false)
    }

    private func stop() {
        if let exchange { engine.cancel(exchange) }
        exchange = nil
        engine.remove(self)
    }

    /// Pauses or resumes the transfer. If the connection ends during a pause, the download requests the rest.
    public func setPaused(_ paused: Bool) {
        guard paused != isPaused else { return }
        isPaused = paused
        if paused { hasBeenPaused = true }
        if let exchange { return engine.setPaused(exchange, paused) }
        guard !paused else { return }
        if isWaitingToAsk { ask() }
        if verification != nil { engine.add(self) }
    }

    private func ask() {
        isWaitingToAsk = isPaused
        guard !isPaused else { return }
        hasBeenPaused = false
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

    /// A partial file can be resumed if the same address, after the same redirects, has the rest of it.
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

    /// Requests the whole file; at most once.
    private func startAgain(because reason: String) {
        guard !hasStartedAgain else { return finish(.failure(Failure(.wrongContent, "\(address): \(reason)"))) }
        report(.notice("\(address): \(reason); starting again"))
        hasStartedAgain = true
        do throws(SystemError) {
            try perform { () throws(SystemError) in try partial.startAgain(nil) }
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
        guard request.checksum != nil else { return putInPlace() }
        verification = PartialFile.Verification()
        if !isPaused { engine.add(self) }
    }

    private func putInPlace() {
        do throws(SystemError) {
            try perform { () throws(SystemError) in try partial.finish(umask: request.umask) }
        } catch {
            return finish(.failure(Failure(error)))
        }
        report(.ended(.success(partial.size)))
    }

    private func finish(_ result: Result<Int64, Failure>) {
        if case .failure(let failure) = result { closePartial(keeping: failure.kind != .wrongContent) }
        report(.ended(result))
    }

    private func closePartial(keeping: Bool) {
        do throws(SystemError) {
            try perform { () throws(SystemError) in
                if keeping { try partial.close() } else { try partial.discard() }
            }
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
            if resume != nil && content.start == nil {
                report(.notice("\(address): the server does not continue; starting again"))
            }
            try perform { () throws(SystemError) in
                if content.start != nil {
                    try partial.continueFromLastByte()
                } else {
                    try partial.startAgain(record(of: content))
                }
            }
        } catch {
            next = .fail(Failure(error))
            return false
        }
        // A pause before the first byte of the body.
        if isPaused, let exchange { engine.setPaused(exchange, true) }
        return true
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do throws(SystemError) {
            let isSame = try perform { () throws(SystemError) in try unsafe partial.append(bytes) }
            if !isSame {
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
        case (.failed(let failure), nil) where hasBeenPaused && failure.kind == .retryable: ask()
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

extension Download: EngineWork {
    /// Reads a slice of the file for its checksum, and ends the download after the last one.
    func doSlice() -> Bool {
        guard !isPaused, var slice = verification, let wanted = request.checksum else { return false }
        // In place: a copy of the digest would be copied again.
        verification = nil
        do throws(SystemError) {
            guard let found = try partial.addSlice(to: &slice) else {
                verification = slice
                return true
            }
            if found == wanted {
                putInPlace()
            } else {
                let reason = "the checksum is \(found), not \(wanted)"
                if content?.start != nil {
                    startAgain(because: reason)
                } else {
                    finish(.failure(Failure(.wrongContent, "\(address): \(reason)")))
                }
            }
        } catch {
            finish(.failure(Failure(error)))
        }
        return false
    }
}

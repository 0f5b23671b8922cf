internal import OpsSystem

/// One attempt to fetch a file: follows redirects, resumes the partial file of earlier attempts, starts again once if
/// the server contradicts itself, and renames the file into place when it is complete and verified.
///
/// Threads make the calls on files (`FileQueue`), one job of a download at a time. Bytes that arrive meanwhile are collected
/// in memory; when there are many, the exchange is paused.
public final class Download {
    public enum Event: Sendable {
        /// A message for the user; the transfer continues.
        case notice(String)
        /// The transfer waits for a connection to this host; nil: it has one now.
        case waits(forHost: String?)
        /// The transfer has ended, with the size of the file. This is the last report.
        case ended(Result<Int64, Failure>)
    }

    /// Maximum number of redirects.
    static let redirectLimit = 10
    /// Number of bytes in memory with which an exchange is paused.
    static let memoryLimit = 131_072

    public let request: DownloadRequest
    let engine: Engine
    let report: (Event) -> Void
    let files: FileQueue
    let file = SharedPartialFile()
    var exchange: Exchange?

    var address: WebAddress
    var headers: [String] = []
    var redirects = 0
    /// True after a redirect to another origin: from then on the user's headers are not sent, not even back at the
    /// first origin.
    var hasLeftOrigin = false
    /// The bytes that the request under way wants to continue.
    var resume: ResumePoint?
    var hasStartedAgain = false
    /// True while the exchange has no connection, because others have all of those to its host.
    var waitsForConnection = false
    /// The body that is being received.
    var content: Answer.Content?
    /// Action to take when the current exchange has stopped.
    var next: Next?
    var isPaused = false
    /// True if the exchange under way was paused: its connection may end during the pause, which is not a failure.
    var hasBeenPaused = false
    /// True if the exchange is paused until bytes in memory are on disk.
    var isFull = false
    /// Step that waits for the end of a pause.
    var step: Step?

    var isOpen = false
    /// Number of bytes on disk.
    var written: Int64 = 0
    /// Position in the file of the next byte of the body.
    var position: Int64 = 0
    /// The version that the bytes on disk and in memory belong to; nil: they cannot be resumed.
    var record: ResumeRecord?
    /// Changes of the file that no job has taken.
    var writes = FileWrites()
    /// True if the engine will ask for the changes of this step.
    var isCollected = false
    /// Action to take when the job under way has ended.
    var afterJob: (() -> Void)?
    var isEnding = false

    enum Next {
        case follow(String)
        case startAgain(String)
        case fail(Failure)
    }

    enum Step { case ask, complete }

    /// `report` is called from the engine's `step`, with `ended` exactly once unless the download is cancelled.
    public init(_ request: DownloadRequest, on engine: Engine, report: @escaping (Event) -> Void) throws(Failure) {
        self.request = request
        self.engine = engine
        self.report = report
        address = request.address
        headers = request.headers.lines
        files = try engine.fileQueue(for: request.rights)
    }

    /// Number of bytes on disk, and of the whole file where it is known.
    public var progress: (done: Int64, total: Int64?) { (written, content?.length ?? record?.length) }

    /// Opens the partial file beside the target, under its lock, and sends the first request.
    public func start() {
        let (file, target, path) = (file, request.target, request.headersPath)
        let directories = files.threads.directories
        files.run { () throws(Failure) in
            let headers = try path.map { (path) throws(Failure) in try HeadersFile(path: path) }
            return (headers, try file.open(target, directories))
        } then: { [self] result in
            switch result {
            case .success((let headers, let state)):
                if let headers { self.headers = headers.lines }
                isOpen = true
                (written, record) = (state.size, state.record)
                if !handleEnd() { ask() }
            case .failure(let failure):
                if !handleEnd() { report(.ended(.failure(failure))) }
            }
        }
    }

    /// Ends the transfer without a report. Keeps the partial file if a later one can resume it and `keeping` is true, else
    /// removes it. Then calls `done`, unless a file system does not answer.
    public func cancel(keeping: Bool = true, then done: @escaping () -> Void = {}) {
        stopExchange()
        step = nil
        close(keeping: keeping, then: done)
    }

    /// Removes the partial file of an earlier attempt. The file must not be open here.
    public func removePartialFile(then done: @escaping (Failure?) -> Void) {
        let (file, target, directories) = (file, request.target, files.threads.directories)
        files.run { () throws(Failure) in
            _ = try file.open(target, directories)
            try file.close(FileWrites(), keeping: false)
        } then: { result in
            if case .failure(let failure) = result { done(failure) } else { done(nil) }
        }
    }

    /// Reports a message, parts of which can come from the server.
    func notify(_ text: String) { report(.notice(text.printable)) }

    func stopExchange() {
        if let exchange { engine.cancel(exchange) }
        exchange = nil
    }

    /// Pauses or resumes the transfer. If the connection ends during a pause, the download requests the rest.
    public func setPaused(_ paused: Bool) {
        guard paused != isPaused else { return }
        isPaused = paused
        if paused { hasBeenPaused = true }
        pauseExchange()
        guard !paused, let step else { return }
        self.step = nil
        switch step {
        case .ask: ask()
        case .complete: complete()
        }
    }

    func pauseExchange() {
        if let exchange { engine.setPaused(exchange, isPaused || isFull) }
    }

    func ask() {
        guard !isPaused else {
            step = .ask
            return
        }
        // The bytes that the next request continues must be known to be on disk.
        write()
        guard !files.isBusy else {
            afterJob = { [unowned self] in ask() }
            return
        }
        hasBeenPaused = false
        isFull = false
        content = nil
        next = nil
        resume = resumePoint
        var headers = ["Accept-Encoding: identity"]
        if !hasLeftOrigin { headers += self.headers }
        if let resume { headers += ["Range: bytes=\(resume.offset)-", "If-Range: \(resume.validator.text)"] }
        let isBusy = engine.isBusy(address.origin)
        do throws(Failure) {
            exchange = try engine.start(
                ExchangeRequest(
                    address: address, headers: headers, rateLimit: request.rateLimit, stallLimit: request.stallLimit),
                self)
            setWaiting(isBusy)
        } catch {
            finish(.failure(error))
        }
    }

    /// Reports that the exchange waits for a connection, or that it waits no longer.
    func setWaiting(_ waits: Bool) {
        guard waits != waitsForConnection else { return }
        waitsForConnection = waits
        report(.waits(forHost: waits ? address.origin.host : nil))
    }

    /// A partial file can be resumed if the same address, after the same redirects, has the rest of it.
    var resumePoint: ResumePoint? {
        guard let record, written > 0, !hasStartedAgain, record.address == request.address.text,
            record.resource == address.resource
        else { return nil }
        return ResumePoint(offset: written - 1, validator: record.validator, length: record.length)
    }

    func follow(_ location: String) {
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
    func startAgain(because reason: String) {
        guard !hasStartedAgain else { return finish(.failure(Failure(.wrongContent, "\(address): \(reason)"))) }
        notify("\(address): \(reason); starting again")
        hasStartedAgain = true
        begin(.firstByte(nil), at: 0)
        write()
        address = request.address
        redirects = 0
        hasLeftOrigin = false
        ask()
    }

    func completeBody() {
        guard let content else { return finish(.failure(Failure(.retryable, "\(address): no content"))) }
        guard content.length == nil || content.length == position else {
            let sizes = "\(position) of \(content.length ?? 0) bytes"
            return finish(.failure(Failure(.retryable, "\(address): the response ended after \(sizes)")))
        }
        complete()
    }

    func finish(_ result: Result<Int64, Failure>) {
        guard case .failure(let failure) = result else { return report(.ended(result)) }
        close(keeping: failure.kind != .wrongContent) { [self] in report(.ended(result)) }
    }
}

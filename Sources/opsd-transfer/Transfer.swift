internal import OpsExecutor
internal import OpsSystem
internal import OpsTransfer

/// An attempt of an operation, until opsd has stored its end.
///
/// ```
///             a server says Retry-After: the end of a download, and not of the attempt
///            +-----------------------+
///            v                       |
/// launch -> downloading -> waiting --+     downloading, waiting -> ended
/// ```
final class Transfer {
    /// State of an attempt.
    private enum State {
        case downloading(Download)
        /// The server has asked for a pause, during which no file or connection is open.
        case waiting(until: Int64)
        case ended(ProcessExit)
    }

    let attempt: Attempt
    let launched: LaunchedProcess
    private var request: LaunchRequest
    private let rights: FileRights?
    private let engine: Engine
    private let log: AttemptLog
    private let report: (ExecutorReport) -> Void
    private var state: State
    private var isFrozen = false
    /// Number of times and nanoseconds that the server has made this attempt wait.
    private var waits = 0
    private var waited: Int64 = 0
    /// Everything that was reported, repeated to an opsd that connects later.
    private(set) var update = NotifyUpdate()
    private var nextProgress: Int64 = 0

    /// Limits of the waiting that a server can cause within one attempt.
    static let longestWait: Int64 = 86_400_000_000_000
    static let mostWaits = 10

    init(
        _ request: LaunchRequest, rights: FileRights?, on engine: Engine, log: AttemptLog,
        report: @escaping (ExecutorReport) -> Void
    ) {
        attempt = request.attempt
        self.request = request
        // The largest part of a launch, which has no effect on a transfer.
        self.request.environment = []
        self.rights = rights
        self.engine = engine
        self.log = log
        self.report = report
        let now = Clock.read()
        launched = LaunchedProcess(pid: 0, startTicks: 0, at: now)
        state = .waiting(until: now.monotonic)
    }

    var greetingState: ExecutorGreeting.State {
        if case .ended(let exit) = state { .gone(exit) } else { .running(launched) }
    }

    var hasEnded: Bool { if case .ended = state { true } else { false } }

    // MARK: Commands

    /// Starts the download, for the first time or after a pause. A failure ends the attempt.
    func start() {
        do throws(Failure) {
            let order = try TransferOrder(request, rights: rights)
            let download = try Download(try order.downloadRequest(), on: engine) { [unowned self] in self.take($0) }
            state = .downloading(download)
            if isFrozen { download.setPaused(true) }
            download.start()
        } catch {
            fail(error)
        }
    }

    /// Ends the attempt. Its partial file stays for a later one, unless the operation is cancelled.
    func terminate(isCancelled: Bool) {
        guard !hasEnded else { return }
        if isCancelled { discard() } else { close() }
        log.write("opsd-transfer: cancelled")
        end(.signal(Signals.terminate))
    }

    /// Removes the partial file of this attempt or, during a pause, of the download before it.
    private func discard() {
        if case .downloading(let download) = state { return download.discard() }
        do throws(Failure) {
            try Download(TransferOrder(request, rights: rights).downloadRequest(), on: engine) { _ in }.discard()
        } catch {
            // Another attempt fetches the file, or it is out of reach.
            log.write("opsd-transfer: \(error.message)")
        }
    }

    /// Closes files and connection without a report.
    func close() {
        if case .downloading(let download) = state { download.cancel() }
    }

    func setFrozen(_ frozen: Bool) {
        isFrozen = frozen
        if case .downloading(let download) = state { download.setPaused(frozen) }
    }

    // MARK: Time

    /// Instant at which a wait ends; nil: nothing waits.
    var due: Int64? {
        if case .waiting(let until) = state, !isFrozen { until } else { nil }
    }

    /// Reports the progress if it has changed. `interval`: nanoseconds until the next report.
    func reportProgress(now: Int64, interval: Int64) {
        guard case .downloading(let download) = state, now >= nextProgress else { return }
        let progress = download.progress
        guard progress.done != update.progressDone ?? 0 else { return }
        nextProgress = now + interval
        send(NotifyUpdate(progressDone: progress.done, progressTotal: progress.total))
    }

    // MARK: Ends

    private func take(_ event: Download.Event) {
        switch event {
        case .notice(let text): log.write("opsd-transfer: \(text)")
        case .ended(.success(let size)):
            var target = ""
            if case .downloading(let download) = state { target = download.request.target }
            send(NotifyUpdate(progressDone: size, progressTotal: size))
            log.write("opsd-transfer: fetched \(size) bytes into \(target)")
            end(.code(0))
        case .ended(.failure(let failure)): if !waits(after: failure) { fail(failure) }
        }
    }

    /// Starts the pause that the server has asked for. Returns false if it has not asked for one, or for one that is
    /// too long.
    private func waits(after failure: Failure) -> Bool {
        guard let seconds = failure.retryAfter, waits < Self.mostWaits else { return false }
        let wait = max(seconds, 1) * 1_000_000_000
        guard waited + wait <= Self.longestWait else { return false }
        waits += 1
        waited += wait
        state = .waiting(until: Clock.read().monotonic + wait)
        log.write("opsd-transfer: \(failure.message)")
        send(NotifyUpdate(status: failure.message))
        return true
    }

    private func fail(_ failure: Failure) {
        log.write("opsd-transfer: \(failure.message)")
        send(NotifyUpdate(status: failure.message))
        end(.code(failure.kind.exitStatus))
    }

    private func end(_ status: ProcessExit.Status) {
        let exit = ProcessExit(status: status, at: Clock.read())
        state = .ended(exit)
        report(.exited(attempt, exit, treeIsGone: true))
    }

    private func send(_ news: NotifyUpdate) {
        if let status = news.status { update.status = status }
        if let done = news.progressDone {
            update.progressDone = done
            update.progressTotal = news.progressTotal
        }
        report(.updated(attempt, news))
    }
}

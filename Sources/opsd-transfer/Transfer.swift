internal import OpsExecutor
internal import OpsSystem
internal import OpsTransfer

/// An attempt of an operation, until opsd has stored its end.
///
/// ```
///                        a server says Retry-After: the end of a download, and not of the attempt
///                       +-----------------------+
///                       v                       |
/// launch -> opening -> downloading -> waiting --+     downloading, waiting -> closing -> ended
/// ```
final class Transfer {
    /// State of an attempt.
    private enum State {
        /// The log is being opened.
        case opening
        case downloading(Download)
        /// The server has asked for a pause, during which no file or connection is open.
        case waiting(until: MonotonicInstant)
        /// The attempt ends when its files are closed, or at this instant if a file system does not answer.
        case closing(ProcessExit.Status, until: MonotonicInstant)
        case ended(ProcessExit)
    }

    let attempt: AttemptID
    let launched: LaunchedProcess
    private var request: LaunchRequest
    private let rights: FileRights?
    private let engine: Engine
    private let log: AttemptLog
    private let report: (ExecutorReport) -> Void
    private var state: State
    private var isFrozen = false
    /// True once the partial file is removed or being removed.
    private var hasRemovedFile = false
    /// Number of times that the server has made this attempt wait, and the sum of their lengths.
    private var waits = 0
    private var waited = TimeSpan.zero
    /// Wait before the next attempt that the server has asked for.
    private var retryAfter = TimeSpan.zero
    /// Everything that was reported, repeated to an opsd that connects later.
    private(set) var update = OperationUpdate()
    private var nextProgress = MonotonicInstant.zero

    /// Limits of the waiting that a server can cause within one attempt.
    static let longestWait = TimeSpan.seconds(86_400)
    static let mostWaits = 10
    /// Longest time that the end of an attempt waits for a file system.
    static let longestClose = TimeSpan.seconds(3)

    init(
        _ request: LaunchRequest, rights: FileRights?, on engine: Engine, report: @escaping (ExecutorReport) -> Void
    ) throws(SystemError) {
        attempt = request.attempt
        self.request = request
        // The largest part of a launch, which has no effect on a transfer.
        self.request.environment = []
        self.rights = rights
        self.engine = engine
        log = try AttemptLog(request)
        self.report = report
        launched = LaunchedProcess(pid: 0, startTicks: 0, at: Clock.read())
        state = .opening
    }

    var attemptState: AttemptState {
        if case .ended(let exit) = state { .gone(exit) } else { .running(launched) }
    }

    var hasEnded: Bool { if case .ended = state { true } else { false } }

    // MARK: Commands

    /// Opens the log and starts the download.
    func launch() {
        do throws(Failure) {
            try log.open(request, engine, rights) { [weak self] error in
                guard let self, case .opening = state else { return }
                if let error { return report(.failed(attempt, step: error.call, errno: error.errno)) }
                report(.launched(attempt, launched))
                start()
            }
        } catch {
            report(.launched(attempt, launched))
            fail(error)
        }
    }

    /// Starts a download. A failure ends the attempt.
    private func start() {
        do throws(Failure) {
            let download = try download()
            state = .downloading(download)
            if isFrozen { download.setPaused(true) }
            download.start()
        } catch {
            fail(error)
        }
    }

    private func download() throws(Failure) -> Download {
        let order = try TransferOrder(request, rights: rights)
        return try Download(try order.downloadRequest(), on: engine) { [weak self] in self?.handle($0) }
    }

    /// Ends the attempt. Its partial file stays for a later one, unless the operation is cancelled.
    func terminate(isCancelled: Bool) {
        switch state {
        case .opening:
            report(.launched(attempt, launched))
            endCancelled(removingFile: isCancelled)
        case .waiting: endCancelled(removingFile: isCancelled)
        case .downloading(let download):
            startClosing(.signal(Signals.terminate))
            hasRemovedFile = isCancelled
            download.cancel(keeping: !isCancelled) { [weak self] in self?.endCancelled() }
        case .closing(let status, _):
            // The attempt has failed, and kept its file for another one.
            if isCancelled, status != .code(0) { removePartialFile {} }
        case .ended(let exit):
            if isCancelled, exit.status != .code(0) { removePartialFile {} }
        }
    }

    private func endCancelled(removingFile: Bool) {
        guard removingFile else { return endCancelled() }
        startClosing(.signal(Signals.terminate))
        removePartialFile { [weak self] in self?.endCancelled() }
    }

    /// Removes the partial file of an earlier download.
    private func removePartialFile(then done: @escaping () -> Void) {
        guard !hasRemovedFile else { return done() }
        hasRemovedFile = true
        do throws(Failure) {
            try download().removePartialFile { [weak self] failure in
                // Another attempt fetches the file, or it is out of reach.
                if let failure { self?.log.write("opsd-transfer: \(failure.message)") }
                done()
            }
        } catch {
            log.write("opsd-transfer: \(error.message)")
            done()
        }
    }

    private func endCancelled() {
        guard !hasEnded else { return }
        log.write("opsd-transfer: cancelled")
        end(.signal(Signals.terminate))
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

    /// Ends a wait that is over.
    func endWait(now: MonotonicInstant) {
        switch state {
        case .waiting(let until) where until <= now && !isFrozen:
            // The answer of the server is no longer true.
            send(OperationUpdate(status: ""))
            start()
        case .closing(_, let until) where until <= now: conclude()
        default: break
        }
    }

    /// Reports the progress if it has changed. `interval`: time until the next report.
    func reportProgress(now: MonotonicInstant, interval: TimeSpan) {
        guard case .downloading(let download) = state, now >= nextProgress else { return }
        let progress = download.progress
        guard progress.done != update.progressDone ?? 0 else { return }
        nextProgress = now + interval
        send(OperationUpdate(progressDone: progress.done, progressTotal: progress.total))
    }

    // MARK: Ends

    private func handle(_ event: Download.Event) {
        guard case .downloading(let download) = state else { return }
        switch event {
        case .notice(let text): log.write("opsd-transfer: \(text)")
        case .waits(let host): send(OperationUpdate(status: host.map { "waits for a connection to \($0)" } ?? ""))
        case .ended(.success(let size)):
            send(OperationUpdate(progressDone: size, progressTotal: size))
            log.write("opsd-transfer: fetched \(size) bytes into \(download.request.target)")
            end(.code(0))
        case .ended(.failure(let failure)):
            if request.retriesFailure {
                // opsd waits instead, and meanwhile the attempt takes no part of its window.
                retryAfter = min(failure.retryAfter.map { .seconds(max($0, 1)) } ?? .zero, Self.longestWait)
                fail(failure)
            } else if !waits(after: failure) {
                fail(failure)
            }
        }
    }

    /// Starts the pause that the server has asked for. Returns false if it has not asked for one, or for one that is
    /// too long.
    private func waits(after failure: Failure) -> Bool {
        guard let seconds = failure.retryAfter, waits < Self.mostWaits else { return false }
        let wait = TimeSpan.seconds(max(seconds, 1))
        guard waited + wait <= Self.longestWait else { return false }
        waits += 1
        waited += wait
        state = .waiting(until: Clock.read().monotonic + wait)
        log.write("opsd-transfer: \(failure.message)")
        send(OperationUpdate(status: failure.message))
        return true
    }

    private func fail(_ failure: Failure) {
        log.write("opsd-transfer: \(failure.message)")
        send(OperationUpdate(status: failure.message))
        end(.code(failure.kind.exitStatus))
    }

    /// Ends the attempt once its log is written.
    private func end(_ status: ProcessExit.Status) {
        startClosing(status)
        log.finish { [weak self] in self?.conclude() }
    }

    private func startClosing(_ status: ProcessExit.Status) {
        state = .closing(status, until: Clock.read().monotonic + Self.longestClose)
    }

    private func conclude() {
        guard case .closing(let status, _) = state else { return }
        let exit = ProcessExit(status: status, at: Clock.read(), retryAfter: retryAfter)
        state = .ended(exit)
        report(.exited(attempt, exit, treeIsGone: true))
    }

    private func send(_ news: OperationUpdate) {
        if let status = news.status { update.status = status }
        if let done = news.progressDone {
            update.progressDone = done
            update.progressTotal = news.progressTotal
        }
        report(.updated(attempt, news))
    }
}

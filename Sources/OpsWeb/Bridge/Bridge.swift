internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Forwards calls of the page to the daemon, with the rights of this process.
///
/// Equal read calls share one call to the daemon, so a hundred tabs with the same view cost as much as one.
final class Bridge {
    private final class Pending {
        let message: [UInt8]
        let isShared: Bool
        var waiters: [(UInt64, (HTTPResponse) -> Void)] = []
        var upstream: Upstream?

        init(_ message: [UInt8], isShared: Bool) {
            self.message = message
            self.isShared = isShared
        }
    }

    private let path: String
    private let loop: EventLoop
    private var queue: [Pending] = []
    private var running: [ObjectIdentifier: Pending] = [:]
    private var shared: [[UInt8]: Pending] = [:]
    private var nextWaiter: UInt64 = 0

    /// Maximum number of simultaneous calls; further ones wait.
    static let concurrency = 8
    /// Maximum number of waiting calls.
    static let backlog = 1024

    init(path: String, loop: EventLoop) {
        self.path = path
        self.loop = loop
    }

    /// Makes a call, and passes its reply to `done`. Returns a function that cancels the call.
    func call(_ message: [UInt8], isReading: Bool, done: @escaping (HTTPResponse) -> Void) -> () -> Void {
        nextWaiter += 1
        let waiter = nextWaiter
        if isReading, let pending = shared[message] {
            pending.waiters.append((waiter, done))
            return { [weak self] in self?.leave(pending, waiter) }
        }
        guard queue.count < Self.backlog else {
            done(.problem(503, "too many requests at a time; try again"))
            return {}
        }
        // After a change, replies to earlier read calls are out of date: later readers call again.
        if !isReading { forgetShared() }
        let pending = Pending(message, isShared: isReading)
        pending.waiters = [(waiter, done)]
        if isReading { shared[message] = pending }
        queue.append(pending)
        startNext()
        return { [weak self] in self?.leave(pending, waiter) }
    }

    private func startNext() {
        while running.count < Self.concurrency, !queue.isEmpty {
            let pending = queue.removeFirst()
            running[ObjectIdentifier(pending)] = pending
            do throws(SystemError) {
                pending.upstream = try Upstream(pending.message, to: path, loop: loop) {
                    [weak self, weak pending] event in
                    guard let self, let pending else { return }
                    switch event {
                    case .reply(let message): self.finish(pending, HTTPResponse(reply: message))
                    case .ended(let error): self.finish(pending, self.unreachable(error))
                    }
                }
            } catch {
                finish(pending, unreachable(error))
            }
        }
    }

    private func unreachable(_ error: SystemError?) -> HTTPResponse {
        let reason = error.map { SystemError.text($0.errno) } ?? "the daemon closed the connection"
        return .problem(502, "opsd is not reachable at \(path) (\(reason)); start it, and the page continues by itself")
    }

    /// Stops sharing the read calls made so far, so that later readers see the change.
    func forgetShared() { shared = [:] }

    private func finish(_ pending: Pending, _ response: HTTPResponse) {
        remove(pending)
        // Read calls that were made during the change may have been answered before it.
        if !pending.isShared { forgetShared() }
        for (_, done) in pending.waiters { done(response) }
        startNext()
    }

    /// Removes a waiter. A read call without waiters is abandoned; a change is still made.
    private func leave(_ pending: Pending, _ waiter: UInt64) {
        pending.waiters.removeAll { $0.0 == waiter }
        guard pending.isShared, pending.waiters.isEmpty else { return }
        remove(pending)
        startNext()
    }

    private func remove(_ pending: Pending) {
        pending.upstream?.cancel()
        pending.upstream = nil
        running[ObjectIdentifier(pending)] = nil
        queue.removeAll { $0 === pending }
        if shared[pending.message] === pending { shared[pending.message] = nil }
    }
}

extension HTTPResponse {
    /// Returns a reply of the daemon unchanged, with the HTTP status for its error.
    init(reply message: [UInt8]) {
        self.init(Self.status(of: message), message)
    }

    private static func status(of message: [UInt8]) -> UInt32 {
        guard message.starts(with: "{\"error\":".utf8) else { return 200 }
        let name: String?
        do { name = try ReceivedReply(frame: message).error } catch { return 502 }
        return switch name?.split(separator: ".").last {
        case "NotFound": 404
        case "PermissionDenied": 403
        case "WrongState", "Cycle": 409
        case "StorageUnavailable", "Busy": 503
        default: 400
        }
    }
}

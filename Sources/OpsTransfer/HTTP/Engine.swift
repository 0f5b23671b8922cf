internal import CCurl
internal import COpsTransfer
internal import Glibc
public import OpsSystem

/// All exchanges of a process, on one thread: libcurl's multi interface over one set of descriptors.
///
/// A program with a loop watches `descriptor` and calls `step` when it is readable; others call `wait` and `step` in turn.
@safe public final class Engine {
    private let multi: UnsafeMutableRawPointer
    private let readiness: Descriptor
    private let timer: Descriptor
    private let files: FileWork
    /// Downloads with changes of their files in this step.
    private var collecting: [Download] = []
    /// Instants at which libcurl wants to be called, and for which the timer is set. The timer may be too early: it is not set
    /// for each of libcurl's changes.
    private var due: MonotonicInstant?
    private var timerDue: MonotonicInstant?
    private var isInStep = false
    /// By the address of libcurl's handle.
    private var exchanges: [Int: Exchange] = [:]
    private let options: Options
    private var connectionsPerHost = 0

    public struct Options: Sendable {
        /// Bytes that are read at once. Each exchange has a buffer of this size, or one of `Engine.smallBuffer` if it
        /// starts while many others are under way.
        var receiveBuffer = 65_536
        /// Connections to one host at a time; further exchanges wait. 0: no limit.
        public var connectionsPerHost = 0
        /// Connections at a time; 0: no limit.
        public var connections = 0
        /// The file of authorities that certificates are verified with; nil: the system's.
        public var authorities: String?

        public init() {}

        /// Takes the file of authorities from the variables that curl and OpenSSL know.
        public static func fromEnvironment() -> Options {
            var options = Options()
            options.authorities = [Environment["CURL_CA_BUNDLE"], Environment["SSL_CERT_FILE"]].compactMap { $0 }
                .first { !$0.isEmpty }
            return options
        }
    }

    /// Size of the buffer of an exchange that starts when `manyExchanges` are under way: the memory of a thousand counts
    /// then, and the processor moves 300 MB/s through buffers of this size.
    static let smallBuffer = 2048
    static let manyExchanges = 64
    /// True if exchanges have started, received or ended since `releaseMemory`.
    private var hasFreedMemory = false

    /// libcurl's own state, once in a process. 3: all of it.
    private static let isReady = curl_global_init(3) == CURLE_OK

    public init(_ options: Options) throws(SystemError) {
        guard Engine.isReady, let multi = unsafe curl_multi_init() else {
            throw SystemError("start libcurl", errno: ENOMEM)
        }
        unsafe self.multi = multi
        self.options = options
        readiness = Descriptor(owning: try retrying("make readiness set") { ops_readiness_set() })
        timer = Descriptor(owning: try retrying("make timer") { ops_timer() })
        files = try FileWork()
        let (set, clock) = (readiness.rawValue, timer.rawValue)
        try retrying("watch timer") { ops_readiness_watch(set, clock, Int32(OPS_READABLE)) }
        let results = files.results.event.rawValue
        try retrying("watch files") { ops_readiness_watch(set, results, Int32(OPS_READABLE)) }
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe opsd_curl_multi_watch_sockets(multi, Engine.socketChanged, context)
        unsafe opsd_curl_multi_watch_timer(multi, Engine.timerChanged, context)
        setConnectionsPerHost(options.connectionsPerHost)
        unsafe opsd_curl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, options.connections)
    }

    deinit {
        for exchange in exchanges.values { unsafe curl_multi_remove_handle(multi, exchange.easy) }
        unsafe curl_multi_cleanup(multi)
        files.abandon()
    }

    /// Descriptor that is readable while `step` has something to do.
    public var descriptor: Int32 { readiness.rawValue }

    /// Changes the number of connections to one host at a time; further exchanges wait. 0: no limit.
    public func setConnectionsPerHost(_ number: Int) {
        connectionsPerHost = number
        unsafe opsd_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, number)
    }

    /// Returns whether another exchange with this origin has to wait for a connection: each exchange takes one.
    func isBusy(_ origin: WebAddress.Origin) -> Bool {
        let limit = connectionsPerHost
        guard limit > 0 else { return false }
        return exchanges.values.lazy.filter { $0.address.origin == origin }.prefix(limit).count == limit
    }

    /// Number of exchanges under way or waiting for a connection.
    public var count: Int { exchanges.count }

    /// Blocks until `step` has something to do, at most this long.
    public func wait(milliseconds: Int32) throws(SystemError) {
        try readiness.waitUntil(.readable, milliseconds: milliseconds)
    }

    /// Advances all exchanges, and reports those that have ended. Does not block.
    public func step() throws(SystemError) {
        isInStep = true
        defer {
            isInStep = false
            setTimer()
        }
        try files.collect { () throws(SystemError) in
            try advance()
            reportEnds()
            // The exchanges that have just been started.
            if isDue {
                callTimer()
                reportEnds()
            }
            let downloads = collecting
            collecting = []
            for download in downloads { download.endStep() }
        }
    }

    private func advance() throws(SystemError) {
        let set = readiness.rawValue
        var ready = [ops_ready](repeating: ops_ready(), count: 64)
        let count = try retrying("collect readiness") { unsafe ops_readiness_collect(set, &ready, Int32(64)) }
        var running: Int32 = 0
        for entry in ready.prefix(Int(count)) {
            if entry.fd == timer.rawValue {
                ops_timer_clear(entry.fd)
                timerDue = nil
            } else if entry.fd == files.results.event.rawValue {
                files.handleResults()
            } else {
                // libcurl's CURL_CSELECT_IN, _OUT and _ERR have the same values.
                unsafe curl_multi_socket_action(multi, entry.fd, entry.how, &running)
            }
        }
        if count > 0 { hasFreedMemory = true }
        if isDue { callTimer() }
    }

    private func reportEnds() {
        var code = CURLE_OK
        while let easy = unsafe opsd_curl_multi_next_ended(multi, &code) {
            let exchange = exchanges.removeValue(forKey: Int(bitPattern: easy))
            unsafe curl_multi_remove_handle(multi, easy)
            exchange?.end(code)
        }
    }

    private var isDue: Bool { due.map { $0 <= Clock.read().monotonic } ?? false }

    private func callTimer() {
        var running: Int32 = 0
        due = nil
        unsafe curl_multi_socket_action(multi, -1, 0, &running)
    }

    /// Sets the timer if it would fire too late.
    private func setTimer() {
        guard !isInStep, let due, due < timerDue ?? .distantFuture else { return }
        timerDue = due
        _ = ops_timer_set(
            timer.rawValue, Int(max(.zero, due - Clock.read().monotonic + .nanoseconds(999_999)).milliseconds))
    }

    /// Returns a new queue for calls on files of a user; nil: of the user of this process.
    public func fileQueue(for rights: FileRights?) throws(Failure) -> FileQueue {
        do throws(SystemError) {
            return try files.queue(rights)
        } catch {
            throw Failure(error)
        }
    }

    /// Calls `endStep` of the download at the end of this step or of the next one.
    func collect(_ download: Download) {
        if collecting.isEmpty { files.wakeLoop() }
        collecting.append(download)
    }

    /// Waits until the calls on files have returned, at most this long.
    public func finishFileWork(within longest: TimeSpan) throws(SystemError) {
        let end = Clock.read().monotonic + longest
        while files.isBusy {
            let rest = end - Clock.read().monotonic
            guard rest > .zero else { return }
            try wait(milliseconds: Int32(rest.milliseconds + 1))
            try step()
        }
    }

    /// Returns freed memory to the system: that of TLS handshakes is a quarter of what a thousand transfers would keep.
    /// Takes a few milliseconds, so callers do it once a second.
    public func releaseMemory() {
        guard hasFreedMemory else { return }
        hasFreedMemory = false
        ops_release_memory()
    }

    func start(_ request: ExchangeRequest, _ receiver: any ExchangeReceiver) throws(Failure) -> Exchange {
        guard let easy = unsafe curl_easy_init() else { throw Failure(.retryable, "no memory for a transfer") }
        let exchange = unsafe Exchange(easy: easy, address: request.address, receiver: receiver)
        var options = options
        // libcurl reads up to a hundred buffers before it obeys a limited rate.
        if exchanges.count >= Engine.manyExchanges || request.rateLimit > 0 {
            options.receiveBuffer = min(options.receiveBuffer, Engine.smallBuffer)
        }
        try exchange.configure(request, options)
        hasFreedMemory = true
        guard unsafe curl_multi_add_handle(multi, easy) == CURLM_OK else {
            throw Failure(.retryable, "libcurl does not take another transfer")
        }
        exchanges[Int(bitPattern: easy)] = exchange
        return exchange
    }

    /// Ends an exchange without reporting it.
    func cancel(_ exchange: Exchange) {
        guard exchanges.removeValue(forKey: unsafe Int(bitPattern: exchange.easy)) != nil else { return }
        unsafe curl_multi_remove_handle(multi, exchange.easy)
    }

    /// Stops or continues the flow of an exchange's body.
    func setPaused(_ exchange: Exchange, _ isPaused: Bool) {
        // CURLPAUSE_RECV, CURLPAUSE_CONT. libcurl may call the receiver with bytes that it has kept.
        let code = unsafe curl_easy_pause(exchange.easy, isPaused ? 1 : 0)
        guard code != CURLE_OK, exchanges.removeValue(forKey: unsafe Int(bitPattern: exchange.easy)) != nil else {
            return
        }
        unsafe curl_multi_remove_handle(multi, exchange.easy)
        exchange.end(code)
    }

    private static let socketChanged: curl_socket_callback = { _, socket, what, context, _ in
        guard let context = unsafe context else { return -1 }
        let set = unsafe Unmanaged<Engine>.fromOpaque(context).takeUnretainedValue().readiness.rawValue
        // CURL_POLL_REMOVE; CURL_POLL_IN and CURL_POLL_OUT are bits with the values of ours.
        return what == 4 ? ops_readiness_forget(set, socket) : ops_readiness_watch(set, socket, what)
    }

    private static let timerChanged: curl_multi_timer_callback = { _, milliseconds, context in
        guard let context = unsafe context else { return -1 }
        let engine = unsafe Unmanaged<Engine>.fromOpaque(context).takeUnretainedValue()
        engine.due = milliseconds < 0 ? nil : Clock.read().monotonic + .milliseconds(Int64(milliseconds))
        engine.setTimer()
        return 0
    }
}

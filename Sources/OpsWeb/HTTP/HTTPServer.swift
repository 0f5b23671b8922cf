internal import CMicrohttpd
internal import Glibc
internal import OpsSystem
internal import OpsSystemd

/// An HTTP server on one listening socket, on the thread of an event loop.
@safe final class HTTPServer {
    /// Decision about a request whose head has arrived.
    enum Admission {
        case refused(HTTPResponse)
        /// A request without credentials. Its connection ends with the response.
        case withoutCredentials(bodyLimit: Int)
        case admitted(bodyLimit: Int)
    }

    /// Socket of a connection that is closed at its deadline.
    private struct Wait {
        let socket: Int32
        let deadline: MonotonicInstant

        init(_ connection: OpaquePointer, for time: TimeSpan) {
            socket = unsafe opsd_http_socket(connection)
            deadline = Clock.read().monotonic + time
        }
    }

    private var daemon: OpaquePointer?
    private let admit: (RequestHead) -> Admission
    private let handle: (HTTPExchange) -> Void
    private var source: ReadinessSource?
    private var timer: TimerSource<MonotonicInstant>?
    private var sweeper: TimerSource<MonotonicInstant>?
    /// Connections that have not had a request with credentials, by address.
    private var unauthenticated: [UInt: Wait] = [:]
    /// Other connections whose next request has not arrived, by address.
    private var waiting: [UInt: Wait] = [:]

    static let done = opsd_http_result(1)
    static let failed = opsd_http_result(0)

    /// Maximum number of connections. Further ones wait in the queue of the socket.
    static let connections: UInt32 = 512
    /// Maximum number of connections without credentials. A further one closes the oldest of them, so that clients
    /// without the token cannot lock out those that have it.
    static let unauthenticatedLimit = 128
    /// Maximum size of the headers of a request in bytes, including space for those of the response.
    static let headerBytes = 16 << 10
    /// Time in which the first request of a connection must have arrived. Without credentials a connection lasts no
    /// longer.
    static let patience = TimeSpan.seconds(10)
    /// Seconds without a byte after which a connection between two requests is closed.
    static let idleSeconds: UInt32 = 60

    /// - Parameters:
    ///   - admit: decides about a request before its body is read.
    ///   - handle: answers a request that has arrived.
    init(
        on listener: consuming Descriptor, loop: EventLoop, admit: @escaping (RequestHead) -> Admission,
        handle: @escaping (HTTPExchange) -> Void
    ) throws(SystemError) {
        self.admit = admit
        self.handle = handle
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // libmicrohttpd closes the listening socket.
        let started = unsafe opsd_http_start(
            listener.release(), HTTPServer.connections, HTTPServer.headerBytes, HTTPServer.idleSeconds,
            HTTPServer.access, HTTPServer.completed, HTTPServer.connectionChanged, context)
        guard let started = unsafe started else { throw SystemError("start libmicrohttpd", errno: ENOMEM) }
        unsafe daemon = started
        timer = try loop.timer(.monotonic) { [weak self] in self?.run() }
        sweeper = try loop.timer(.monotonic, accuracy: 100_000) { [weak self] in self?.sweep() }
        let descriptor = unsafe opsd_http_descriptor(started)
        source = try loop.watch(descriptor, for: .readable) { [weak self] _ in self?.run() }
    }

    /// The server runs until the process ends: libmicrohttpd cannot stop while connections such as streams are
    /// suspended.
    deinit { source?.cancel() }

    /// Runs libmicrohttpd's pending work, and sets the timer for its next deadline.
    private func run() {
        guard let daemon = unsafe daemon else { return }
        unsafe MHD_run(daemon)
        var milliseconds: UInt64 = 0
        let now = Clock.read().monotonic
        let isTimed = unsafe opsd_http_timeout(daemon, &milliseconds) != 0
        arm(timer, at: isTimed ? now + .milliseconds(Int64(min(milliseconds, 60_000))) : nil)
        if !unauthenticated.isEmpty || !waiting.isEmpty, sweeper?.deadline == nil {
            arm(sweeper, at: now + .seconds(1))
        }
    }

    /// Ends connections that have not sent a whole request in time.
    private func sweep() {
        let now = Clock.read().monotonic
        for wait in [unauthenticated.values, waiting.values].joined() where wait.deadline <= now {
            shutdown(wait.socket, Int32(SHUT_RDWR))
        }
        run()
    }

    private func arm(_ timer: TimerSource<MonotonicInstant>?, at instant: MonotonicInstant?) {
        // Fails only if the kernel has no memory; the next event of the socket sets the timer again.
        do throws(SystemError) { try timer?.arm(at: instant) } catch { Program.writeError("opsd-web: \(error)") }
    }

    // MARK: Callbacks of libmicrohttpd

    private static func server(_ context: UnsafeMutableRawPointer?) -> HTTPServer? {
        unsafe context.map { unsafe Unmanaged<HTTPServer>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let access: MHD_AccessHandlerCallback = {
        context, connection, url, method, _, upload, uploadSize, state in
        guard let server = unsafe server(context), let connection = unsafe connection, let state = unsafe state,
            let uploadSize = unsafe uploadSize
        else { return HTTPServer.failed }
        if let known = unsafe state.pointee {
            let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(known).takeUnretainedValue()
            if unsafe uploadSize.pointee > 0 {
                let bytes = unsafe UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
                unsafe exchange.receive(bytes)
                unsafe uploadSize.pointee = 0
                return HTTPServer.done
            }
            server.waiting[UInt(bitPattern: connection)] = nil
            return exchange.proceed(server.handle)
        }
        var head = RequestHead()
        unsafe head.method = method.map { unsafe String(cString: $0) } ?? ""
        unsafe head.path = url.map { unsafe String(cString: $0) } ?? ""
        unsafe collect(connection, into: &head)
        let exchange = unsafe server.begin(head, on: connection)
        unsafe state.pointee = Unmanaged.passRetained(exchange).toOpaque()
        return exchange.isAnswered ? exchange.proceed(server.handle) : HTTPServer.done
    }

    /// Decides about a request before its body is read.
    private func begin(_ head: RequestHead, on connection: OpaquePointer) -> HTTPExchange {
        let exchange = unsafe HTTPExchange(head, connection: connection) { [unowned self] in
            arm(timer, at: Clock.read().monotonic)
        }
        switch admit(head) {
        case .refused(let response): exchange.refuse(response)
        case .withoutCredentials(let limit): exchange.expectBody(upTo: limit, endsConnection: true)
        case .admitted(let limit):
            exchange.expectBody(upTo: limit, endsConnection: false)
            let key = UInt(bitPattern: connection)
            if let wait = unauthenticated.removeValue(forKey: key) { waiting[key] = wait }
        }
        return exchange
    }

    private static func collect(_ connection: OpaquePointer, into head: inout RequestHead) {
        unsafe withUnsafeMutablePointer(to: &head) { head in
            unsafe opsd_http_each_header(
                connection,
                { context, _, key, value in
                    guard let context = unsafe context, let key = unsafe key else { return HTTPServer.done }
                    let head = unsafe context.assumingMemoryBound(to: RequestHead.self)
                    let text = unsafe value.map { unsafe String(cString: $0) } ?? ""
                    unsafe head.pointee.headers.append((String(cString: key).lowercased(), text))
                    return HTTPServer.done
                }, head)
            unsafe opsd_http_each_argument(
                connection,
                { context, _, key, value in
                    guard let context = unsafe context, let key = unsafe key else { return HTTPServer.done }
                    let head = unsafe context.assumingMemoryBound(to: RequestHead.self)
                    unsafe head.pointee.query[String(cString: key)] = value.map { unsafe String(cString: $0) } ?? ""
                    return HTTPServer.done
                }, head)
        }
    }

    private static let completed: MHD_RequestCompletedCallback = { context, connection, state, _ in
        guard let state = unsafe state, let known = unsafe state.pointee else { return }
        unsafe state.pointee = nil
        let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(known).takeRetainedValue()
        exchange.finish()
        guard !exchange.endsConnection, let server = unsafe server(context), let connection = unsafe connection
        else { return }
        unsafe server.waiting[UInt(bitPattern: connection)] = Wait(
            connection, for: patience + .seconds(Int64(idleSeconds)))
    }

    private static let connectionChanged: MHD_NotifyConnectionCallback = { context, connection, _, change in
        guard let server = unsafe server(context), let connection = unsafe connection else { return }
        if opsd_http_is_start(change) != 0 {
            unsafe server.addUnauthenticated(connection)
        } else {
            server.unauthenticated[UInt(bitPattern: connection)] = nil
            server.waiting[UInt(bitPattern: connection)] = nil
        }
    }

    /// Adds a new connection. If there are too many without credentials, it ends the oldest of them.
    private func addUnauthenticated(_ connection: OpaquePointer) {
        unsafe unauthenticated[UInt(bitPattern: connection)] = Wait(connection, for: Self.patience)
        guard unauthenticated.count > Self.unauthenticatedLimit,
            let oldest = unauthenticated.min(by: { $0.value.deadline < $1.value.deadline })
        else { return }
        shutdown(oldest.value.socket, Int32(SHUT_RDWR))
        unauthenticated[oldest.key] = nil
    }
}

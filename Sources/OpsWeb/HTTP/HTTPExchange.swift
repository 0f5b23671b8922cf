internal import CMicrohttpd

/// One request and its response.
@safe final class HTTPExchange {
    let head: RequestHead
    private(set) var body: [UInt8] = []
    /// Maximum size of the body in bytes.
    private var bodyLimit = 0
    /// True if the connection ends with the response.
    private(set) var endsConnection = false
    /// Called when the response has been sent or the client has disconnected.
    var ended: () -> Void = {}
    private var response: HTTPResponse?
    private let connection: OpaquePointer
    /// Called when the connection is resumed, because libmicrohttpd has no thread that would notice it.
    private let resumed: () -> Void
    private var isSuspended = false
    private var isHandled = false
    private var isQueued = false
    private var isOver = false

    init(_ head: RequestHead, connection: OpaquePointer, resumed: @escaping () -> Void) {
        self.resumed = resumed
        self.head = head
        unsafe self.connection = unsafe connection
    }

    /// Answers the request, now or later. The first answer counts.
    func respond(_ response: HTTPResponse) {
        guard self.response == nil, !isOver else { return }
        self.response = response
        wake()
    }

    // MARK: For the server

    var isAnswered: Bool { response != nil }

    /// Answers without reading the body. The connection ends with the response.
    func refuse(_ response: HTTPResponse) {
        endsConnection = true
        respond(response)
    }

    /// Permits a body of at most `limit` bytes, and refuses a request that announces another one.
    func expectBody(upTo limit: Int, endsConnection: Bool) {
        bodyLimit = limit
        self.endsConnection = endsConnection
        guard let text = head["content-length"] else { return }
        guard let length = UInt64(text) else {
            return refuse(.problem(400, "a request must not have more than one Content-Length"))
        }
        if length > limit { refuse(tooLong) }
    }

    /// Adds a piece of the body. libmicrohttpd takes no response in the middle of a body, so a body that becomes too
    /// long is dropped piece by piece, and answered at its end.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        guard response == nil, body.count + bytes.count <= bodyLimit else {
            body = []
            return respond(tooLong)
        }
        unsafe body.append(contentsOf: bytes)
    }

    private var tooLong: HTTPResponse { .problem(413, "the request is longer than \(bodyLimit) bytes") }

    /// Handles a request that has no response yet, once, and queues the response as soon as there is one.
    func proceed(_ handle: (HTTPExchange) -> Void) -> MHD_Result {
        guard !isQueued else { return HTTPServer.done }
        if response == nil, !isHandled {
            isHandled = true
            handle(self)
        }
        guard let response else {
            suspend()
            return HTTPServer.done
        }
        isQueued = true
        return queue(response)
    }

    func finish() {
        isOver = true
        ended()
        ended = {}
    }

    private func suspend() {
        guard !isSuspended else { return }
        isSuspended = true
        unsafe MHD_suspend_connection(connection)
    }

    private func wake() {
        guard isSuspended, !isOver else { return }
        isSuspended = false
        unsafe MHD_resume_connection(connection)
        resumed()
    }

    private func queue(_ response: HTTPResponse) -> MHD_Result {
        let made: OpaquePointer?
        switch response.body {
        case .bytes(let bytes):
            unsafe made = bytes.withUnsafeBytes { unsafe opsd_http_bytes($0.baseAddress, $0.count) }
        case .stream(let stream):
            let reader = StreamReader(stream, self)
            unsafe made = opsd_http_stream(
                StreamReader.read, Unmanaged.passRetained(reader).toOpaque(), StreamReader.release)
            stream.arrived = { [weak self] in self?.wake() }
        }
        guard let made = unsafe made else { return HTTPServer.failed }
        defer { unsafe MHD_destroy_response(made) }
        var headers = HTTPResponse.protection + response.headers + [("Content-Type", response.type)]
        if endsConnection { headers.append(("Connection", "close")) }
        // The header says how a program sends the token. A browser shows no dialog for this scheme.
        if response.status == 401 { headers.append(("WWW-Authenticate", "Bearer")) }
        for header in headers { unsafe MHD_add_response_header(made, header.name, header.value) }
        return unsafe MHD_queue_response(connection, response.status, made)
    }

    /// The side of a stream from which libmicrohttpd reads.
    private final class StreamReader {
        let stream: ByteStream
        private weak var exchange: HTTPExchange?

        init(_ stream: ByteStream, _ exchange: HTTPExchange) {
            self.stream = stream
            self.exchange = exchange
        }

        static let read: MHD_ContentReaderCallback = { context, _, buffer, limit in
            guard let context = unsafe context, let buffer = unsafe buffer else { return opsd_http_end_of_stream() }
            let reader = unsafe Unmanaged<StreamReader>.fromOpaque(context).takeUnretainedValue()
            let count = unsafe reader.stream.take(into: UnsafeMutableRawBufferPointer(start: buffer, count: limit))
            if count > 0 { return count }
            if reader.stream.isEnded { return opsd_http_end_of_stream() }
            reader.exchange?.suspend()
            return 0
        }

        static let release: MHD_ContentReaderFreeCallback = { context in
            guard let context = unsafe context else { return }
            unsafe Unmanaged<StreamReader>.fromOpaque(context).release()
        }
    }
}

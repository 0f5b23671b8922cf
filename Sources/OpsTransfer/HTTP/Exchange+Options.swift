internal import CCurl
internal import OpsSystem

extension Exchange {
    /// Sets libcurl's options for a request.
    func configure(_ request: ExchangeRequest, _ options: Engine.Options) throws(Failure) {
        for line in request.headers {
            guard let longer = unsafe curl_slist_append(headers, line) else {
                throw Failure(.retryable, "no memory for headers")
            }
            unsafe headers = longer
        }
        var codes: [CURLcode] = []
        func set(_ option: CURLoption, _ value: Int) {
            codes.append(unsafe opsd_curl_set_long(easy, option, value))
        }
        func set(_ option: CURLoption, text: String?) {
            codes.append(unsafe opsd_curl_set_text(easy, option, text))
        }
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_WRITEDATA, CURLOPT_HEADERDATA] {
            codes.append(unsafe opsd_curl_set_pointer(easy, option, context))
        }
        codes.append(unsafe opsd_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText))
        codes.append(unsafe opsd_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION, Exchange.headerArrived))
        codes.append(unsafe opsd_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION, Exchange.bodyArrived))
        codes.append(unsafe opsd_curl_watch_request(easy, Exchange.connected, context))
        codes.append(unsafe opsd_curl_set_list(easy, CURLOPT_HTTPHEADER, headers))
        codes.append(unsafe opsd_curl_set_size(easy, CURLOPT_MAX_RECV_SPEED_LARGE, Int(request.rateLimit)))
        set(CURLOPT_URL, text: request.address.text)
        // A user's own header takes precedence.
        set(CURLOPT_USERAGENT, text: "opsd-fetch/\(Release.current.text)")
        set(CURLOPT_PROTOCOLS_STR, text: "http,https")
        // One connection for each transfer: limits of connections are limits of transfers.
        set(CURLOPT_HTTP_VERSION, 2)
        set(CURLOPT_NOSIGNAL, 1)
        // The end of a transfer does not wait for the name server of its host.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_BUFFERSIZE, options.receiveBuffer)
        set(CURLOPT_CONNECTTIMEOUT, request.connectLimit)
        // libcurl reads up to 101 buffers at once, and then nothing until the rate is right.
        let pause = request.rateLimit > 0 ? 101 * options.receiveBuffer / Int(request.rateLimit) : 0
        set(CURLOPT_LOW_SPEED_LIMIT, 1)
        set(CURLOPT_LOW_SPEED_TIME, request.stallLimit + pause)
        // TLS 1.2 or later.
        set(CURLOPT_SSLVERSION, 6)
        // libcurl reads a file of authorities once for all connections, but only where no directory of them is set.
        if let authorities = options.authorities ?? Exchange.systemAuthorities {
            set(CURLOPT_CAINFO, text: authorities)
            set(CURLOPT_CAPATH, text: nil)
        }
        guard codes.allSatisfy({ $0 == CURLE_OK }) else { throw Failure(.retryable, "libcurl refuses an option") }
    }

    private static let systemAuthorities: String? = {
        guard let path = unsafe opsd_curl_default_authorities() else { return nil }
        return unsafe String(cString: path)
    }()

    private static let connected: curl_prereq_callback = { context, _, _, _, _ in
        guard let context = unsafe context else { return CURL_PREREQFUNC_ABORT }
        unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue().reportConnection()
        return CURL_PREREQFUNC_OK
    }

    private static let headerArrived: opsd_curl_receiver = { bytes, size, count, context in
        guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
        let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
        let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe exchange.receive(header: line) ? size * count : 0
    }

    private static let bodyArrived: opsd_curl_receiver = { bytes, size, count, context in
        guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
        let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
        let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe exchange.receive(body: piece) ? size * count : 0
    }
}

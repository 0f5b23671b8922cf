internal import CCurl
internal import COpsTransfer

/// One request, without redirects, whose answer goes to a receiver.
struct ExchangeRequest {
    var address: WebAddress
    /// Header lines without their ends.
    var headers: [String]
    /// Bytes per second; 0: no limit.
    var rateLimit: Int64 = 0
    /// Seconds without a byte after which the exchange fails. Pauses for the limited rate do not count.
    var stallLimit = 60
    /// Time limit in seconds for making a connection.
    var connectLimit = 30
}

/// The part of a transfer that an exchange reports to.
protocol ExchangeReceiver: AnyObject {
    /// Called when the exchange has a connection.
    func exchangeConnected()
    /// Takes the head of the final response; false ends the exchange as `stopped`.
    func receive(_ head: ResponseHead) -> Bool
    /// Takes a piece of the body; false ends the exchange as `stopped`.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// Takes the result. Nothing follows, and a new exchange may be started.
    func exchangeEnded(_ end: ExchangeEnd)
}

enum ExchangeEnd: Hashable, Sendable {
    /// The whole response was received.
    case complete
    /// The receiver has stopped it.
    case stopped
    case failed(Failure)
}

/// An exchange under way in an engine.
@safe final class Exchange {
    let easy: UnsafeMutableRawPointer
    var headers: UnsafeMutablePointer<curl_slist>?
    let errorText: UnsafeMutablePointer<CChar>
    private let receiver: any ExchangeReceiver
    let address: WebAddress
    private var head = ResponseHead()
    private var isStopped = false
    /// True if a body has arrived without the complete head of a final response.
    private var hasBodyWithoutHead = false
    private let isEncrypted: Bool

    init(easy: UnsafeMutableRawPointer, address: WebAddress, receiver: any ExchangeReceiver) {
        unsafe self.easy = easy
        self.address = address
        isEncrypted = address.origin.scheme == "https"
        self.receiver = receiver
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe curl_slist_free_all(headers)
        unsafe errorText.deallocate()
    }

    func reportConnection() { receiver.exchangeConnected() }

    /// Takes a header line; false where the exchange must end.
    func receive(header line: UnsafeRawBufferPointer) -> Bool {
        // After the head these are the trailers of a chunked body, which a server can send without end.
        let isTrailer = head.isComplete
        if isTrailer { head.addTrailer(byteCount: line.count) } else { unsafe head.add(line) }
        if head.isTooLarge { return false }
        guard head.isComplete, !isTrailer else { return true }
        isStopped = !receiver.receive(head)
        return !isStopped
    }

    /// Takes a piece of the body; false where the exchange must end.
    func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        // libcurl also passes on the body after a status such as `502Bad`, and after 101.
        guard head.isComplete else {
            hasBodyWithoutHead = true
            return false
        }
        isStopped = unsafe !receiver.receive(bytes)
        if isEncrypted { unsafe ops_free_tls_buffers(opsd_curl_openssl(easy)) }
        return !isStopped
    }

    func end(_ code: CURLcode) {
        receiver.exchangeEnded(result(code))
    }

    private func result(_ code: CURLcode) -> ExchangeEnd {
        if isStopped { return .stopped }
        // libcurl says "out of memory" of a header of more than 100,000 bytes.
        if head.isTooLarge || code == CURLE_OUT_OF_MEMORY && !head.isComplete {
            return .failed(Failure(.wrongContent, "\(address): the headers or trailers of the response are too long"))
        }
        if hasBodyWithoutHead {
            return .failed(Failure(.wrongContent, "\(address): the response has a body and no valid status"))
        }
        if code == CURLE_OK {
            return head.isComplete ? .complete : .failed(Failure(.retryable, "\(address): no answer"))
        }
        var text = unsafe String(cString: errorText)
        if text.isEmpty { text = unsafe String(cString: curl_easy_strerror(code)) }
        return .failed(Failure(Failure.Kind(code), "\(address): \(text)"))
    }
}

extension Failure.Kind {
    /// Most network errors are temporary; the ones listed here are not.
    init(_ code: CURLcode) {
        switch code {
        case CURLE_URL_MALFORMAT, CURLE_SSL_CACERT_BADFILE: self = .usage
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS: self = .refused
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
            self = .wrongContent
        default: self = .retryable
        }
    }
}

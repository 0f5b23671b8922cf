internal import CCurl

/// An absolute http or https URL without user and password, and without fragment.
public struct WebAddress: Hashable, Sendable {
    /// Scheme, host and port: headers of the user are sent to one origin only.
    struct Origin: Hashable, Sendable {
        let scheme: String
        let host: String
        let port: String
    }

    let text: String
    let origin: Origin
    /// The address without its query: signed addresses of one file differ in the query alone.
    let resource: String

    public init(_ text: String) throws(Failure) {
        try self.init([text], kind: .usage)
    }

    /// Returns the address that a redirect from this one leads to.
    func following(_ location: String) throws(Failure) -> WebAddress {
        let next: WebAddress
        do throws(Failure) {
            next = try WebAddress([text, location], kind: .refused)
        } catch {
            throw Failure(error.kind, "\(resource) redirects to an address that cannot be used: \(error.message)")
        }
        guard origin.scheme == "http" || next.origin.scheme == "https" else {
            throw Failure(.refused, "\(resource) redirects from https to http, to \(next.resource)")
        }
        return next
    }

    /// Resolves each reference against those before it.
    private init(_ references: [String], kind: Failure.Kind) throws(Failure) {
        guard let url = unsafe curl_url() else { throw Failure(.retryable, "no memory for a URL") }
        defer { unsafe curl_url_cleanup(url) }
        for (index, reference) in references.enumerated() {
            // A server may leave spaces in a redirect; a user's mistake is reported.
            let flags = UInt32(CURLU_DISALLOW_USER) | (index > 0 ? UInt32(CURLU_URLENCODE) : 0)
            let code = unsafe curl_url_set(url, CURLUPART_URL, reference, flags)
            if code == CURLUE_USER_NOT_ALLOWED {
                // Without the URL: it has a password in it.
                let cure = kind == .usage ? "; put them into a headers file" : ""
                throw Failure(kind, "a URL must not contain a user name or password\(cure)")
            }
            guard code == CURLUE_OK else {
                let reason = unsafe String(cString: curl_url_strerror(code))
                throw Failure(kind, "not a URL: \(WebAddress.withoutSecrets(reference)): \(reason)")
            }
        }
        unsafe curl_url_set(url, CURLUPART_FRAGMENT, nil, 0)
        let scheme = unsafe WebAddress.part(CURLUPART_SCHEME, of: url)
        guard scheme == "http" || scheme == "https" else {
            throw Failure(kind, "not an http or https URL: \(scheme)")
        }
        origin = unsafe Origin(
            scheme: scheme, host: WebAddress.part(CURLUPART_HOST, of: url).lowercased(),
            port: WebAddress.part(CURLUPART_PORT, of: url))
        text = unsafe WebAddress.part(CURLUPART_URL, of: url)
        unsafe curl_url_set(url, CURLUPART_QUERY, nil, 0)
        resource = unsafe WebAddress.part(CURLUPART_URL, of: url)
    }

    /// Returns an invalid reference without its query and fragment, and without what can be a user name and password.
    private static func withoutSecrets(_ reference: String) -> String {
        let visible = Array(reference.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        let parts = visible.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        return String(decoding: parts.last ?? [], as: UTF8.self)
    }

    private static func part(_ part: CURLUPart, of url: OpaquePointer) -> String {
        var value: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(url, part, &value, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let value = unsafe value
        else { return "" }
        defer { unsafe curl_free(value) }
        return unsafe String(cString: value)
    }
}

extension WebAddress: CustomStringConvertible {
    /// Without the query, which can hold a secret.
    public var description: String { resource }
}

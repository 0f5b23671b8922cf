/// First line and headers of a request.
struct RequestHead: Sendable {
    var method = "GET"
    /// Path without the query, percent-decoded.
    var path = "/"
    var query: [String: String] = [:]
    /// Headers in the order of arrival; names are in lower case.
    var headers: [(name: String, value: String)] = []

    /// Returns the value of a header; nil if it is missing.
    ///
    /// For a header that occurs twice it returns an empty text, which no check accepts, since readers may disagree
    /// about its value.
    subscript(_ name: String) -> String? {
        var found: String?
        for header in headers where header.name == name {
            guard found == nil else { return "" }
            found = header.value
        }
        return found
    }
}

extension RequestHead {
    /// True if the client lists gzip among its encodings, and does not exclude it.
    var acceptsGzip: Bool {
        (self["accept-encoding"] ?? "").lowercased().split(separator: ",").contains { part in
            let words = part.split(separator: ";").map { $0.filter { $0 != " " } }
            return words.first == "gzip"
                && !words.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
        }
    }
}

/// Answer to a request.
struct HTTPResponse {
    enum Body {
        case bytes([UInt8])
        case stream(ByteStream)
    }

    var status: UInt32 = 200
    var type = "application/json"
    var headers: [(name: String, value: String)] = []
    var body: Body

    init(_ status: UInt32 = 200, type: String = "application/json", _ bytes: [UInt8]) {
        self.status = status
        self.type = type
        body = .bytes(bytes)
    }

    init(type: String, _ stream: ByteStream) {
        self.type = type
        body = .stream(stream)
    }

    /// Headers of every response: the page loads nothing from other sites, and no other site can embed or read it.
    static let protection: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
        ),
        ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cache-Control", "no-store"), ("Vary", "Cookie, Authorization, Accept-Encoding"),
    ]
}

/// Decides from the head of a request whether to answer it.
struct Gate {
    /// Address at which opsd-web listens.
    enum Address: Equatable, Sendable {
        case loopback(port: UInt16)
        /// A socket in the file system. Browsers connect through a forwarded port, whose number is unknown here.
        case unix
    }

    enum Access: Equatable {
        case refused(status: UInt32, message: String)
        /// A browser without a session may load the page that exchanges the token of a link.
        case withoutCredentials
        case admitted
    }

    let address: Address

    static let methods = ["GET", "HEAD", "POST"]
    static let hosts = ["127.0.0.1", "localhost", "[::1]"]

    var cookieName: String {
        switch address {
        // Cookies are not separated by port, so two opsd-webs of a machine need different names.
        case .loopback(let port): "opsd-web-\(port)"
        case .unix: "opsd-web"
        }
    }

    func access(for head: RequestHead, _ credentials: Credentials) -> Access {
        guard let host = head["host"], !host.isEmpty else {
            return .refused(status: 400, message: "a request must have one Host header")
        }
        // A foreign name that leads here by DNS is refused, which prevents DNS rebinding.
        guard isOwn(host) else {
            return .refused(status: 403, message: "this is not the host that opsd-web listens at")
        }
        if let origin = head["origin"], origin != "http://" + host {
            return .refused(status: 403, message: "requests of another site are refused")
        }
        var isNavigation = false
        if let site = head["sec-fetch-site"], site != "same-origin", site != "none" {
            // A link on another site, on another port of this host ("same-site"), or in the private file of --open may
            // lead here; it opens only the page for browsers without a session.
            isNavigation =
                ["cross-site", "same-site"].contains(site) && head.method == "GET"
                && head["sec-fetch-mode"] == "navigate" && head["sec-fetch-dest"] == "document"
            guard isNavigation else {
                return .refused(status: 403, message: "requests of another site are refused")
            }
        }
        guard Self.methods.contains(head.method) else {
            return .refused(status: 405, message: "only GET, HEAD and POST are understood")
        }
        if head.method == "POST", !Self.isJSON(head["content-type"]) {
            return .refused(status: 415, message: "a request must be JSON: set Content-Type to application/json")
        }
        if isNavigation { return .withoutCredentials }
        if let authorization = head["authorization"] {
            let words = authorization.split { $0 == " " || $0 == "\t" }
            guard words.count == 2, words[0].lowercased() == "bearer", credentials.isBearer(String(words[1])) else {
                return .refused(status: 401, message: "this is not the token that opsd-web printed")
            }
            return .admitted
        }
        return cookies(head).contains(where: credentials.isSession) ? .admitted : .withoutCredentials
    }

    /// Returns whether a Host header names this server.
    private func isOwn(_ host: String) -> Bool {
        let host = host.lowercased()
        switch address {
        case .loopback(let port): return Self.hosts.contains { host == "\($0):\(port)" || port == 80 && host == $0 }
        case .unix:
            return Self.hosts.contains { own in
                guard host.hasPrefix(own) else { return false }
                let rest = host.dropFirst(own.count)
                return rest.isEmpty || rest.first == ":" && UInt16(rest.dropFirst()) != nil
            }
        }
    }

    private func cookies(_ head: RequestHead) -> [String] {
        guard let text = head["cookie"] else { return [] }
        let prefix = cookieName + "="
        return text.split(separator: ";").compactMap { part in
            let part = part.drop { $0 == " " }
            return part.hasPrefix(prefix) ? String(part.dropFirst(prefix.count)) : nil
        }
    }

    private static func isJSON(_ type: String?) -> Bool {
        guard let type else { return false }
        let kind = type.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)[0]
        return kind.lowercased().filter { $0 != " " } == "application/json"
    }
}

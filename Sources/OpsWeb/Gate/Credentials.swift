internal import OpsSystem

/// Secrets of one opsd-web. They are valid until the process ends.
struct Credentials {
    /// Token of the link that a browser opens. It can be exchanged once.
    private(set) var link: String
    /// Token of programs.
    let bearer: String
    /// Values of cookies, oldest first.
    private var sessions: [String] = []

    /// Maximum number of sessions; a new one replaces the oldest.
    static let sessionLimit = 32

    init() throws(SystemError) {
        link = try Self.secret()
        bearer = try Self.secret()
    }

    /// Exchanges the token of a link for the value of a cookie, and creates the next link.
    mutating func exchange(_ token: String) throws(SystemError) -> String? {
        guard Self.isEqual(token, link) else { return nil }
        let (session, next) = (try Self.secret(), try Self.secret())
        link = next
        if sessions.count == Self.sessionLimit { sessions.removeFirst() }
        sessions.append(session)
        return session
    }

    func isSession(_ value: String) -> Bool { sessions.contains { Self.isEqual($0, value) } }

    func isBearer(_ value: String) -> Bool { Self.isEqual(value, bearer) }

    /// 256 random bits.
    private static func secret() throws(SystemError) -> String {
        try Randomness.identifier() + Randomness.identifier()
    }

    /// Compares two texts in constant time, so that the time does not reveal where they differ.
    private static func isEqual(_ a: String, _ b: String) -> Bool {
        guard a.utf8.count == b.utf8.count else { return false }
        return zip(a.utf8, b.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

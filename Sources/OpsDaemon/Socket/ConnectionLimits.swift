internal import OpsWire

/// Bounds on the clients of the daemon: all together, and those of one user.
struct ConnectionLimits: Equatable {
    var total: Int
    /// Maximum number of connections of an ordinary user. Privileged users may have more connections and bytes.
    var perUser: Int
    var bytesPerUser: Int64 = 256 << 20

    /// Factor by which the limits of privileged users are larger.
    private static let factorOfPrivileged = 4
    /// The part of all connections that only root and the daemon's own user can use: one in this number.
    private static let partOfPrivileged = 16

    /// Returns the error for a client beyond the limit; nil if it may connect.
    func refusal(total count: Int, ofUser own: Int, isPrivileged: Bool) -> ControlError? {
        let total = isPrivileged ? total : total - max(1, total / Self.partOfPrivileged)
        if count >= total {
            return .busy("\(total) clients are connected already; try again, or raise connections in opsd.conf")
        }
        let perUser = connections(isPrivileged: isPrivileged)
        if own >= perUser {
            return .busy(
                "you have \(perUser) connections already; close some, or raise connections-per-user in opsd.conf")
        }
        return nil
    }

    private func connections(isPrivileged: Bool) -> Int { perUser * (isPrivileged ? Self.factorOfPrivileged : 1) }

    /// Bytes that are buffered for one user.
    func bytes(isPrivileged: Bool) -> Int { Int(bytesPerUser) * (isPrivileged ? Self.factorOfPrivileged : 1) }
}

internal import OpsWire

/// How many clients there may be at once.
struct ConnectionLimits: Equatable {
    var total: Int
    var perUser: Int

    /// What a client is told that is one too many; nil: it may come in.
    func refusal(total count: Int, ofUser own: Int) -> ControlError? {
        if count >= total {
            return .busy("\(total) clients are connected already; try again, or raise connections in opsd.conf")
        }
        if own >= perUser {
            return .busy(
                "you have \(perUser) connections already; close some, or raise connections-per-user in opsd.conf")
        }
        return nil
    }
}

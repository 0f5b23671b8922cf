internal import OpsWire

/// Bytes that opsd holds for all clients of one user: messages on their way in, submissions in parts, answers that are
/// being made, and answers that have not been read.
final class BufferBudget {
    var limit: Int
    fileprivate(set) var used = 0
    private let user: String

    init(of user: String, limit: Int) {
        self.user = user
        self.limit = limit
    }

    /// Error for a client for which there is no room left.
    var refusal: ControlError {
        .busy(
            "the \(SizeText.format(Int64(limit))) that opsd buffers for user \(user) are used up by messages, submissions in "
                + "parts and answers that are not read; read the answers, close connections, or raise buffered-per-user "
                + "in opsd.conf")
    }
}

/// The part of a budget that one thing uses. It is released with this object.
final class BufferShare {
    private let budget: BufferBudget
    private(set) var bytes = 0

    init(of budget: BufferBudget, _ bytes: Int = 0) {
        self.budget = budget
        set(bytes)
    }

    deinit { budget.used -= bytes }

    /// Replaces the reserved number of bytes. Returns false, and changes nothing, if that is more than the budget
    /// allows.
    func resize(to bytes: Int) -> Bool {
        guard bytes <= self.bytes || budget.used - self.bytes + bytes <= budget.limit else { return false }
        set(bytes)
        return true
    }

    /// Replaces the reserved number of bytes without a check: for bytes that were counted elsewhere before, and for
    /// small replies that must be sent.
    func set(_ bytes: Int) {
        budget.used += bytes - self.bytes
        self.bytes = bytes
    }
}

/// Launches that the runner holds in advance, and may start by itself the moment an attempt succeeds.
///
///                                 discard: a staged launch can never start
///                                 spoil: an attempt did not succeed
///     unsupported --connect--> empty --stage--> staged(until) --------------------------> spoiled
///          ^                    ^  ^               |     |                                   |
///          |                    |  +-- the last ---+     +------------ revoke ---------------+
///     disconnect                |      one starts                         |
///     (from any state)          |                                         v
///                               +---------- confirmRevocation -------- revoking
///
/// While launches are staged, only reports of the runner are handled. Anything else revokes them first; `Scheduler.handle`
/// sees to that.
struct Staging: Equatable, Codable {
    enum State: Equatable, Codable {
        /// There is no runner, or one that cannot hold launches.
        case unsupported
        /// The runner holds nothing and can be given launches.
        case empty
        /// Instant at which the launches are revoked if none of them has started until then.
        case staged(until: MonotonicInstant)
        /// An attempt did not succeed: the runner starts nothing more, and some staged launches can never start.
        case spoiled
        /// The launches are revoked, and the runner has not confirmed it.
        case revoking
    }

    private(set) var state = State.unsupported
    /// Operations in the order in which they start; nil for one that was resolved meanwhile and never starts.
    private(set) var launches: [OperationIndex?] = []
    /// True if staged launches may wait for the success of others.
    private(set) var acceptsWaiting = false

    var isEmpty: Bool { launches.isEmpty }
    var count: Int { launches.count }
    var operations: [OperationIndex] { launches.compactMap { $0 } }

    var mayStage: Bool {
        switch state {
        case .empty, .staged: launches.count < Limits.stagedLaunches
        case .unsupported, .spoiled, .revoking: false
        }
    }

    /// The instant at which the staged launches must be revoked.
    var deadline: MonotonicInstant? { if case .staged(let until) = state { until } else { nil } }

    /// Returns whether the staged launches must be revoked before a turn ends.
    func mustRevoke(at now: Moment) -> Bool {
        switch state {
        case .staged(let until): until <= now.monotonic
        case .spoiled: true
        case .unsupported, .empty, .revoking: false
        }
    }

    // MARK: The runner

    mutating func connect(isSupported: Bool, acceptsWaiting: Bool) {
        launches = []
        state = isSupported ? .empty : .unsupported
        self.acceptsWaiting = acceptsWaiting
    }

    mutating func disconnect() {
        launches = []
        state = .unsupported
    }

    // MARK: Launches

    mutating func stage(_ operation: OperationIndex, until: MonotonicInstant) {
        launches.append(operation)
        state = .staged(until: until)
    }

    /// Removes a launch that the runner has started. The others stay staged until the new instant.
    mutating func start(_ operation: OperationIndex, until: MonotonicInstant) {
        launches.removeAll { $0 == operation }
        if launches.isEmpty {
            state = .empty
        } else if case .staged = state {
            state = .staged(until: until)
        }
    }

    /// Notes that a staged operation was resolved and never starts. Returns false if it is not staged.
    mutating func discard(_ operation: OperationIndex) -> Bool {
        guard let position = launches.firstIndex(of: operation) else { return false }
        launches[position] = nil
        state = .spoiled
        return true
    }

    /// Notes that an attempt did not succeed.
    mutating func spoil() { if !launches.isEmpty { state = .spoiled } }

    /// Empties the list and returns the operations that were staged, in order.
    mutating func revoke() -> [OperationIndex] {
        let revoked = operations
        launches = []
        state = .revoking
        return revoked
    }

    mutating func confirmRevocation() { if state == .revoking { state = .empty } }

    func checkInvariants() -> [String] {
        var broken: [String] = []
        switch state {
        case .staged, .spoiled: if launches.isEmpty { broken.append("staging: \(state) without launches") }
        case .unsupported, .empty, .revoking:
            if !launches.isEmpty { broken.append("staging: \(state) with \(launches.count) launches") }
        }
        if launches.count > Limits.stagedLaunches { broken.append("staging: \(launches.count) launches are too many") }
        if Set(operations).count != operations.count { broken.append("staging: an operation is staged twice") }
        return broken
    }
}

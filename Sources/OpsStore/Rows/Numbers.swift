internal import OpsCore

// Integers of the tables for cases of the core. They are on disk: cases are only added, each with a new number.

extension OperationState {
    var stored: Int64 {
        switch self {
        case .pending: 0
        case .ready: 1
        case .executing: 2
        case .finished: 3
        }
    }

    init?(stored: Int64) {
        guard let found = OperationState.allCases.first(where: { $0.stored == stored }) else { return nil }
        self = found
    }
}

extension Outcome {
    var stored: Int64 {
        switch self {
        case .succeeded: 0
        case .failed: 1
        case .timedOut: 2
        case .cancelled: 3
        case .skipped: 4
        case .interrupted: 5
        case .notNeeded: 6
        }
    }

    init?(stored: Int64?) {
        guard let found = Outcome.allCases.first(where: { $0.stored == stored }) else { return nil }
        self = found
    }
}

extension EdgeCondition {
    var stored: Int64 {
        switch self {
        case .succeeded: 0
        case .finished: 1
        case .failed: 2
        case .started: 3
        }
    }

    init?(stored: Int64) {
        switch stored {
        case 0: self = .succeeded
        case 1: self = .finished
        case 2: self = .failed
        case 3: self = .started
        default: return nil
        }
    }
}

extension CategoryUse.Mode {
    var stored: Int64 {
        switch self {
        case .units: 0
        case .exclusive: 1
        case .shared: 2
        }
    }

    init?(stored: Int64) {
        switch stored {
        case 0: self = .units
        case 1: self = .exclusive
        case 2: self = .shared
        default: return nil
        }
    }
}

extension Draft.Flags {
    var stored: Int64 {
        (contains(.group) ? 1 : 0) | (contains(.barrier) ? 2 : 0) | (contains(.held) ? 4 : 0)
            | (contains(.provided) ? 8 : 0)
    }

    init(stored: Int64) {
        self = []
        if stored & 1 != 0 { insert(.group) }
        if stored & 2 != 0 { insert(.barrier) }
        if stored & 4 != 0 { insert(.held) }
        if stored & 8 != 0 { insert(.provided) }
    }
}

extension FreezingLevels {
    /// 1 was stored by versions that did not store the levels.
    var stored: Int64 {
        var sum: Int64 = contains(.unknown) ? 1 : 0
        if contains(.operation) { sum += 2 }
        if contains(.queue) { sum += 4 }
        if contains(.graph) { sum += 8 }
        if contains(.daemon) { sum += 16 }
        return sum
    }

    init(stored: Int64) {
        self = []
        if stored & 1 != 0 { insert(.unknown) }
        if stored & 2 != 0 { insert(.operation) }
        if stored & 4 != 0 { insert(.queue) }
        if stored & 8 != 0 { insert(.graph) }
        if stored & 16 != 0 { insert(.daemon) }
    }
}

extension Report.Kind {
    var stored: Int64 {
        switch self {
        case .submitted: 0
        case .ready: 1
        case .started: 2
        case .progress: 3
        case .produced: 4
        case .retrying: 5
        case .cancelling: 6
        case .suspended: 7
        case .resumed: 8
        case .finished: 9
        case .edited: 10
        case .conditionFalse: 11
        case .interrupted: 12
        case .fired: 13
        case .skipped: 14
        case .missed: 15
        case .refused: 16
        }
    }

    init?(stored: Int64) {
        guard let found = Report.Kind.allCases.first(where: { $0.stored == stored }) else { return nil }
        self = found
    }
}

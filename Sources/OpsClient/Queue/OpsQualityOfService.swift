/// Share of the machine for the process of an operation: nice value, I/O class and CPU weight.
public enum OpsQualityOfService: String, Sendable, CaseIterable {
    case userInteractive, userInitiated, `default`, utility, background
}

/// Priorities by name. Operations may have any priority from -100 to 100.
public enum OpsQueuePriority: Int, Sendable, CaseIterable {
    case veryLow = -8
    case low = -4
    case normal = 0
    case high = 4
    case veryHigh = 8
}

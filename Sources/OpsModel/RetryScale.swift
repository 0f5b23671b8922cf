/// Factors by which values of an operation grow with each further attempt of a run.
public struct RetryScale: Hashable, Sendable, Codable {
    /// The values that can grow, with their names in a graph file.
    public enum Key: String, CaseIterable, Sendable {
        case timeout
        case memory = "limits.memory"
        case tasks = "limits.tasks"
        case cpuWeight = "limits.cpuWeight"
        case cpuQuota = "limits.cpuQuota"
        case openFiles = "limits.openFiles"
        case fileSize = "limits.fileSize"
        case coreSize = "limits.coreSize"

        /// Largest value that the key may have.
        var largest: Int64 {
            switch self {
            case .timeout: Limits.duration.nanoseconds
            case .memory, .fileSize, .coreSize: .max
            case .tasks, .openFiles: Int64(Int32.max)
            case .cpuWeight: 10_000
            case .cpuQuota: 1_000_000
            }
        }
    }

    public static let names = Key.allCases.map(\.rawValue)

    /// Factor of each key in thousandths; 0 if the key does not grow.
    private var factors = [Int64](repeating: 0, count: Key.allCases.count)

    public init() {}

    /// Factor of the key in thousandths; nil if the key does not grow.
    public subscript(key: Key) -> Int64? {
        get {
            let factor = factors[Self.position(of: key)]
            return factor == 0 ? nil : factor
        }
        set { factors[Self.position(of: key)] = newValue ?? 0 }
    }

    /// The keys that grow, with their factors in thousandths.
    public var entries: [(key: Key, factor: Int64)] {
        Key.allCases.compactMap { key in self[key].map { (key: key, factor: $0) } }
    }

    public var isEmpty: Bool { entries.isEmpty }

    private static func position(of key: Key) -> Int { Key.allCases.firstIndex(of: key) ?? 0 }

    /// Returns the value of a key for the `count`th attempt of a run, at most the key's largest value.
    public func value(_ first: Int64, of key: Key, inAttempt count: Int32) -> Int64 {
        guard let factor = self[key], factor > 1000, first > 0 else { return first }
        var value = first
        for _ in 1..<max(count, 1) {
            let (product, remainder) = value.quotientAndRemainder(dividingBy: 1000)
            let (whole, overflow) = product.multipliedReportingOverflow(by: factor)
            let (sum, overrun) = whole.addingReportingOverflow(remainder * factor / 1000)
            let next = overflow || overrun ? key.largest : min(sum, key.largest)
            if next == value { return value }
            value = next
        }
        return value
    }
}

extension Policy {
    /// Returns the timeout of the `count`th attempt of a run.
    public func timeout(inAttempt count: Int32) -> TimeSpan? {
        guard let scale = retry?.scale else { return timeout }
        return timeout.map { .nanoseconds(scale.value($0.nanoseconds, of: .timeout, inAttempt: count)) }
    }
}

/// The keys of an operation.
enum OperationKey: UInt8, CaseIterable {
    case name, command, shell, operations, limit, queue, priority, qos, after, categories, barrier, conditions,
        observers
    case completion, timeout, grace, deadline, notBefore, held, retry, successCodes, leftovers, key
    case environment, directory, umask, stdin, output, user, limits, labels

    var text: String { "\(self)" }

    static let texts = allCases.map(\.text)

    /// Says how a process is run: nothing for a group, which has none.
    var isOfProcess: Bool {
        switch self {
        case .command, .shell, .qos, .completion, .grace, .retry, .successCodes, .leftovers, .environment, .directory,
            .umask, .stdin, .output, .user, .limits:
            true
        case .name, .operations, .limit, .queue, .priority, .after, .categories, .barrier, .conditions, .observers,
            .timeout, .deadline, .notBefore, .held, .key, .labels:
            false
        }
    }

    /// Would mean nothing, or the same thing twice, for several operations.
    var isOfOneAlone: Bool { self == .name || self == .key || self == .operations || self == .limit }

    /// May be changed while an operation waits.
    var isEditable: Bool {
        switch self {
        case .queue, .priority, .categories, .timeout, .grace, .deadline, .notBefore, .retry, .successCodes, .leftovers,
            .limit:
            true
        default: false
        }
    }

    /// A bit of a set of keys.
    var bit: UInt64 { 1 << UInt64(rawValue) }
}

extension OperationKey {
    /// All keys by length and first byte, which leave two together at most.
    private static let buckets: [[(key: OperationKey, text: [UInt8])]] = {
        var buckets: [[(key: OperationKey, text: [UInt8])]] = Array(repeating: [], count: 256)
        for key in allCases {
            let text = Array(key.text.utf8)
            buckets[bucket(text.count, text[0])].append((key, text))
        }
        return buckets
    }()

    private static func bucket(_ count: Int, _ first: UInt8) -> Int { (count &* 31 ^ Int(first)) & 255 }

    /// The key that is written so.
    static func find(_ text: UnsafeBufferPointer<UInt8>) -> OperationKey? {
        guard let first = text.first else { return nil }
        for entry in buckets[bucket(text.count, first)] where entry.text.count == text.count {
            if entry.text.elementsEqual(text) { return entry.key }
        }
        return nil
    }

    static func find(_ text: String) -> OperationKey? { Array(text.utf8).withUnsafeBufferPointer { find($0) } }
}

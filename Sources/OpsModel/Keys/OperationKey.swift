/// Keys of an operation, in the order of help and manual. All other data of a key are in its `entry`.
public enum OperationKey: UInt8, Sendable, CaseIterable {
    case name, command, shell, operations, limit, include, set, directory, environment, secrets, umask, stdin, user,
        labels, key
    case queue, priority, qos, after, categories, barrier, conditions, held, notBefore
    case timeout, deadline, grace, successCodes, leftovers, completion, observers, retry
    case limits, output
    case executor, slurm, http

    public var text: String { "\(self)" }

    public static let texts = allCases.map(\.text)

    /// Keys for the command of an operation. It has exactly one of them; a group has none.
    public static let commands: [OperationKey] = [.command, .shell, .http]
    /// Keys of an object that is one operation and no graph.
    public static let ofSingleOperation: [OperationKey] = commands + [.include]
    /// Keys of which each object of a graph file has exactly one.
    public static let contents: [OperationKey] = commands + [.operations, .include]

    private static let entries: [KeyEntry] = allCases.map(\.made)

    public var entry: KeyEntry { Self.entries[Int(rawValue)] }

    private var made: KeyEntry {
        switch self {
        case .name: .name
        case .command: .command
        case .shell: .shell
        case .operations: .operations
        case .limit: .limit
        case .include: .include
        case .set: .set
        case .directory: .directory
        case .environment: .environment
        case .secrets: .secrets
        case .umask: .umask
        case .stdin: .stdin
        case .user: .user
        case .labels: .labels
        case .key: .key
        case .queue: .queue
        case .priority: .priority
        case .qos: .qos
        case .after: .after
        case .categories: .categories
        case .barrier: .barrier
        case .conditions: .conditions
        case .held: .held
        case .notBefore: .notBefore
        case .timeout: .timeout
        case .deadline: .deadline
        case .grace: .grace
        case .successCodes: .successCodes
        case .leftovers: .leftovers
        case .completion: .completion
        case .observers: .observers
        case .retry: .retry
        case .limits: .limits
        case .output: .output
        case .executor: .executor
        case .slurm: .slurm
        case .http: .http
        }
    }

    /// The key as one bit of a set.
    public var bit: UInt64 { 1 << UInt64(rawValue) }

    /// Sets of keys with each trait. They are made once, because they are needed for every operation.
    private static let process = set(of: .process)
    private static let single = set(of: .single)
    private static let editable = set(of: .editable)
    private static let removable = set(of: .removable)

    private static func set(of trait: KeyEntry.Traits) -> UInt64 {
        allCases.reduce(0) { $1.entry.traits.contains(trait) ? $0 | $1.bit : $0 }
    }

    /// True if the key describes a process, so that a group cannot have it.
    public var isOfProcess: Bool { Self.process & bit != 0 }
    /// True if the key would have no meaning for several operations, so that `defaults` cannot contain it.
    public var isOfOneAlone: Bool { Self.single & bit != 0 }
    /// True if `set` may change the key while the operation waits.
    public var isEditable: Bool { Self.editable & bit != 0 }
    /// True if `set` may remove the key.
    public var isRemovable: Bool { Self.removable & bit != 0 }
}

extension OperationKey {
    /// True if opsctl replaces the key when it reads a graph file, so that the daemon does not know it.
    public var isOfFiles: Bool { self == .include || self == .set }

    /// All keys, sorted by length and first byte; at most two share a bucket.
    private static let buckets: [[(key: OperationKey, text: [UInt8])]] = {
        var buckets: [[(key: OperationKey, text: [UInt8])]] = Array(repeating: [], count: 256)
        for key in allCases {
            let text = Array(key.text.utf8)
            buckets[bucket(text.count, text[0])].append((key, text))
        }
        return buckets
    }()

    private static func bucket(_ count: Int, _ first: UInt8) -> Int { (count &* 31 ^ Int(first)) & 255 }

    /// Returns the key with this name.
    public static func find(_ text: UnsafeBufferPointer<UInt8>) -> OperationKey? {
        guard let first = text.first else { return nil }
        for entry in buckets[bucket(text.count, first)] where entry.text.count == text.count {
            if entry.text.elementsEqual(text) { return entry.key }
        }
        return nil
    }

    public static func find(_ text: String) -> OperationKey? { Array(text.utf8).withUnsafeBufferPointer { find($0) } }
}

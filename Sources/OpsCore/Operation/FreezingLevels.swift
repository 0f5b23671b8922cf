/// The levels that have frozen an operation. It continues once each of them is resumed.
public struct FreezingLevels: OptionSet, Hashable, Sendable, Codable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// An earlier version of opsd has stored that the operation is frozen, but not the levels.
    public static let unknown = FreezingLevels(rawValue: 1)
    /// The operation itself was frozen by its id, or by that of an operation around it.
    public static let operation = FreezingLevels(rawValue: 2)
    public static let queue = FreezingLevels(rawValue: 4)
    public static let graph = FreezingLevels(rawValue: 8)
    public static let daemon = FreezingLevels(rawValue: 16)
}

extension FreezingLevels {
    /// The levels among the traits of an operation.
    init(_ traits: Traits) {
        self = []
        if traits.contains(.frozenItself) { insert(.operation) }
        if traits.contains(.frozenByQueue) { insert(.queue) }
        if traits.contains(.frozenByGraph) { insert(.graph) }
        if traits.contains(.frozenByDaemon) { insert(.daemon) }
    }
}

extension Traits {
    /// The traits of known levels.
    init(_ levels: FreezingLevels) {
        self = []
        if levels.contains(.operation) { insert(.frozenItself) }
        if levels.contains(.queue) { insert(.frozenByQueue) }
        if levels.contains(.graph) { insert(.frozenByGraph) }
        if levels.contains(.daemon) { insert(.frozenByDaemon) }
    }
}

import SpawnFallbacks

/// Features that the kernel is assumed to lack, so that each fallback is tested on every kernel.
struct Fallbacks: OptionSet, Hashable, Sendable {
    let rawValue: UInt32
    static let withoutClone3 = Fallbacks(rawValue: SPAWN_CLONE3.rawValue)
    static let withoutIntoControlGroup = Fallbacks(rawValue: SPAWN_INTO_CGROUP.rawValue)
    static let withoutCloseRange = Fallbacks(rawValue: SPAWN_CLOSE_RANGE.rawValue)
    static let withoutClearedSignals = Fallbacks(rawValue: SPAWN_CLEAR_SIGHAND.rawValue)

    /// Lets starts of this thread use these fallbacks, and no others.
    func begin() { spawn_without(rawValue) }

    static func end() { spawn_without(0) }
}

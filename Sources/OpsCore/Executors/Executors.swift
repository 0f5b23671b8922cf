/// Configured properties of an executor other than the runner.
public struct ExecutorSettings: Hashable, Sendable, Codable {
    public var name: String
    /// Maximum number of attempts in flight.
    public var window: Int32
    public init(name: String, window: Int32 = Limits.executorWindow) {
        self.name = name
        self.window = window
    }
}

/// State of an executor, for queries.
public struct ExecutorLoad: Hashable, Sendable {
    public var name: String
    public var window: Int32
    public var inFlight: Int32
    public var isConnected: Bool
}

/// Executors other than the runner: programs that run operations in other engines, each with its connection and its
/// window. An executor that an operation names stays known, even if it is no longer configured.
struct Executors: Codable {
    struct Executor: Codable {
        let name: String
        var window = Limits.executorWindow
        /// True while its program is connected and starts attempts.
        fileprivate(set) var isConnected = false
        fileprivate(set) var inFlight: Int32 = 0
        /// Lanes that wait for its connection or for room in its window.
        var parked = LaneHeap()
        var parkedCount = 0

        var hasRoom: Bool { isConnected && inFlight < window }
    }

    private var all: [Executor] = []
    private var known: [String: ExecutorIndex] = [:]

    subscript(executor: ExecutorIndex) -> Executor {
        @inline(__always) _read { yield all[executor.offset] }
        @inline(__always) _modify { yield &all[executor.offset] }
    }

    var loads: [ExecutorLoad] {
        all.map {
            ExecutorLoad(name: $0.name, window: $0.window, inFlight: $0.inFlight, isConnected: $0.isConnected)
        }
    }

    /// Returns whether operations wait for an executor or are in flight on it.
    func isInUse(_ name: String) -> Bool {
        all.contains { ($0.parkedCount > 0 || $0.inFlight > 0) && $0.name == name }
    }

    /// Returns the executor of this name, and makes it known if it is not.
    mutating func find(_ name: String) -> ExecutorIndex {
        if let index = known[name] { return index }
        let index = ExecutorIndex(rawValue: Int32(all.count))
        all.append(Executor(name: name))
        known[name] = index
        return index
    }

    mutating func setConnected(_ executor: ExecutorIndex, _ isConnected: Bool) {
        all[executor.offset].isConnected = isConnected
    }

    /// Counts an attempt that starts or was started before a restart.
    mutating func enter(_ executor: ExecutorIndex) { all[executor.offset].inFlight += 1 }

    /// Counts the end of an attempt.
    mutating func leave(_ executor: ExecutorIndex) { all[executor.offset].inFlight -= 1 }

    /// `inFlight`: attempts in flight of each executor, counted.
    func checkInvariants(inFlight: [ExecutorIndex: Int32]) -> [String] {
        var broken: [String] = []
        for (name, index) in known where index.offset >= all.count || all[index.offset].name != name {
            broken.append("12: executor \(name) is not found by its name")
        }
        if known.count != all.count { broken.append("12: \(all.count) executors have \(known.count) names") }
        for (offset, executor) in all.enumerated() {
            let counted = inFlight[ExecutorIndex(rawValue: Int32(offset))] ?? 0
            if executor.inFlight != counted {
                broken.append("12: executor \(executor.name) counts \(executor.inFlight) in flight, not \(counted)")
            }
            if executor.parkedCount < 0 { broken.append("12: executor \(executor.name) has negative lanes") }
        }
        return broken
    }
}

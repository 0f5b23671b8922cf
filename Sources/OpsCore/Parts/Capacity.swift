/// The pool of slots, and the switches that stop all starts.
struct Capacity: Codable {
    private(set) var slots = SlotPool()
    var workers: Int32
    var isSuspended: Bool
    var isDraining = false
    /// Id of the connected runner; without one nothing starts.
    var runner: String?

    init(workers: Int32, isSuspended: Bool = false) {
        self.workers = workers
        self.isSuspended = isSuspended
    }

    var used: Int32 { slots.used }
    var hasFreeSlot: Bool { slots.used < workers }
    var isExactlyFull: Bool { slots.used == workers }
    /// True after the pool got smaller, until the processes in its former slots have ended.
    var usesSlotBeyondPool: Bool { slots.isUsed(from: workers) }
    var mayStart: Bool { runner != nil && !isSuspended && !isDraining }

    /// Allocates the lowest free slot, beyond the pool too.
    mutating func allocate() -> Int32 { slots.allocate() }

    /// Occupies the slot in which a process executes already. If it is occupied, which no rule allows, another one is
    /// allocated.
    mutating func occupy(_ slot: Int32) -> Int32 {
        guard slots.isFree(slot) else { return slots.allocate() }
        slots.occupy(slot)
        return slot
    }

    /// Occupies a slot that was allocated before a restart.
    mutating func restore(_ slot: Int32) { slots.occupy(slot) }

    mutating func release(_ slot: Int32) { slots.release(slot) }

    func checkInvariants() -> [String] {
        var broken = slots.checkInvariants()
        if !(0...Limits.workers).contains(workers) { broken.append("2: \(workers) workers") }
        return broken
    }
}

/// SplitMix64: the same seed gives the same numbers on every machine and in every process.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Returns a number from 0 to less than `bound`. The bias of the remainder is negligible for such small bounds.
    public mutating func below(_ bound: Int) -> Int {
        precondition(bound > 0, "a choice needs something to choose from")
        return Int(next() % UInt64(bound))
    }

    /// Returns true in `percent` of a hundred cases.
    public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    public mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }

    /// Returns a few elements in their order, or none.
    public mutating func some<T>(_ all: [T], atMost limit: Int) -> [T] {
        guard !all.isEmpty else { return [] }
        var left = below(limit + 1)
        var taken: [T] = []
        for (place, element) in all.enumerated() where left > 0 {
            if below(all.count - place) < left {
                taken.append(element)
                left -= 1
            }
        }
        return taken
    }
}

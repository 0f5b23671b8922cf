import OpsCore
import Testing

/// Random events: for every seed all invariants must hold after every turn, and everything must finish at the end.
@Suite struct RandomTests {
    /// The last three seeds are of histories that once did not finish.
    @Test(arguments: Array(0..<60) + [519, 817, 886])
    func `invariants hold and every operation finishes in random histories`(seed: Int) {
        var chaos = Chaos(seed: UInt64(seed))
        for step in 0..<120 {
            chaos.step()
            let broken = chaos.turn()
            #expect(broken.isEmpty, "seed \(seed) step \(step) after \(chaos.trace.suffix(12))")
            if !broken.isEmpty { return }
        }
        let left = chaos.settle()
        #expect(left.isEmpty, "seed \(seed): \(chaos.trace.suffix(30))")
    }
}

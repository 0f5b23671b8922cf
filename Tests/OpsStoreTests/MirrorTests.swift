import OpsTesting
import Testing

/// Whole lives of opsd with this store under the scheduler: what it gives back is what the contract says it must.
@Suite(.serialized) struct MirrorTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `the store loads the same state as the simulated store`(_ seed: UInt64) throws {
        let mirror = Mirror()
        Mirror.current = mirror
        defer { Mirror.current = nil }
        var simulation = Simulation<MirroredScheduler>(seed: seed)
        // A life that the scheduler itself spoils ends early; SimulationTests tell of that.
        if case .failure(let failure) = Result(catching: { () throws(Failure) in try simulation.run() }) {
            #expect(failure.seed == seed)
        }
        #expect(mirror.commits > 10)
        mirror.check()
        #expect(mirror.problem == nil)
    }
}

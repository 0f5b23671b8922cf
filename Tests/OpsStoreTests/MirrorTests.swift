import OpsTesting
import Testing

/// Simulations of opsd with this store under the scheduler: loading must return what the contract demands.
@Suite(.serialized) struct MirrorTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `the store loads the same state as the simulated store`(_ seed: UInt64) throws {
        let mirror = Mirror()
        Mirror.current = mirror
        defer { Mirror.current = nil }
        var simulation = Simulation<MirroredScheduler>(seed: seed)
        // A simulation that the scheduler itself breaks ends early; SimulationTests report that.
        if case .failure(let failure) = Result(catching: { () throws(Failure) in try simulation.run() }) {
            #expect(failure.seed == seed)
        }
        #expect(mirror.commits > 10)
        mirror.check()
        #expect(mirror.problem == nil)
    }
}

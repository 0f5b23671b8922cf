import Testing

@testable import OpsCore

@Suite("Staging")
struct StagingTests {
    private func operation(_ number: Int32) -> OperationIndex { OperationIndex(rawValue: number) }
    private func instant(_ monotonic: MonotonicInstant) -> Moment { Moment(monotonic: monotonic, wall: 0) }

    private var connected: Staging {
        var staging = Staging()
        staging.connect(isSupported: true, acceptsWaiting: true)
        return staging
    }

    @Test func `nothing is staged without a runner that supports it`() {
        var staging = Staging()
        #expect(staging.state == .unsupported && !staging.mayStage)
        staging.connect(isSupported: false, acceptsWaiting: false)
        #expect(!staging.mayStage)
        staging.connect(isSupported: true, acceptsWaiting: false)
        #expect(staging.mayStage && !staging.acceptsWaiting)
        staging.disconnect()
        #expect(!staging.mayStage)
    }

    @Test func `staged launches are revoked once they have rested`() {
        var staging = connected
        staging.stage(operation(1), until: 50)
        #expect(staging.deadline == 50)
        #expect(!staging.mustRevoke(at: instant(49)) && staging.mustRevoke(at: instant(50)))
        staging.stage(operation(2), until: 60)
        staging.start(operation(1), until: 90)
        #expect(staging.operations == [operation(2)] && staging.deadline == 90)
    }

    @Test func `the start of the last launch leaves nothing staged`() {
        var staging = connected
        staging.stage(operation(1), until: 50)
        staging.start(operation(1), until: 60)
        #expect(staging.state == .empty && staging.mayStage && !staging.mustRevoke(at: instant(.distantFuture)))
    }

    @Test func `an attempt that fails spoils what is staged`() {
        var staging = connected
        staging.spoil()
        #expect(staging.state == .empty, "nothing is staged that it could spoil")
        staging.stage(operation(1), until: 50)
        staging.spoil()
        #expect(staging.mustRevoke(at: instant(0)) && !staging.mayStage)
        #expect(staging.checkInvariants().isEmpty)
    }

    @Test func `a discarded launch keeps its position until the rest is revoked`() {
        var staging = connected
        for number in 1...3 { staging.stage(operation(Int32(number)), until: 50) }
        #expect(staging.discard(operation(2)) == true)
        #expect(staging.discard(operation(2)) == false)
        #expect(staging.launches == [operation(1), nil, operation(3)] && staging.state == .spoiled)
        #expect(staging.revoke() == [operation(1), operation(3)])
    }

    @Test func `nothing is staged between a revocation and its confirmation`() {
        var staging = connected
        staging.stage(operation(1), until: 50)
        #expect(staging.revoke() == [operation(1)])
        #expect(staging.state == .revoking && !staging.mayStage)
        staging.confirmRevocation()
        #expect(staging.state == .empty && staging.mayStage)
        staging.stage(operation(1), until: 50)
        staging.confirmRevocation()
        #expect(staging.deadline == 50, "a late confirmation of an earlier revocation changes nothing")
    }

    @Test func `no more launches are staged than the limit`() {
        var staging = connected
        for number in 0..<Int32(Limits.stagedLaunches) {
            #expect(staging.mayStage)
            staging.stage(operation(number), until: 50)
        }
        #expect(!staging.mayStage)
        #expect(staging.checkInvariants().isEmpty)
    }
}

import Testing

@testable import OpsCore

@Suite("Reservations")
struct ReservationsTests {
    @Test func `without a reservation there is nothing to review`() {
        var reservations = Reservations()
        reservations.requestReview()
        #expect(reservations.isEmpty && !reservations.needsReview && !reservations.beginReview())
    }

    @Test func `one request causes one review`() {
        var reservations = Reservations()
        reservations.add()
        reservations.requestReview()
        reservations.requestReview()
        #expect(reservations.needsReview && reservations.beginReview())
        #expect(reservations.beginReview() == false)
        #expect(reservations.checkInvariants(reserving: 1).isEmpty)
        #expect(reservations.checkInvariants(reserving: 2).count == 1)
    }
}

@Suite("Output of a turn")
struct OutputTests {
    @Test func `reports are numbered without a gap over turns`() {
        var output = Output(sequence: 41, nextOperation: 1, nextGraph: 1)
        output.publish { Report(sequence: $0, kind: .suspended, at: 0) }
        #expect(output.endTurn().reports.map(\.sequence) == [42])
        output.publish { Report(sequence: $0, kind: .resumed, at: 0) }
        #expect(output.endTurn().reports.map(\.sequence) == [43])
        #expect(output.sequence == 43)
    }

    @Test func `a report or an id out of order is found`() {
        var output = Output(sequence: 4, nextOperation: 8, nextGraph: 3)
        output.publish { Report(sequence: $0, kind: .ready, at: 0) }
        output.publish { Report(sequence: $0, kind: .started, at: 0) }
        #expect(output.checkInvariants(lastOperation: 7, lastGraph: 2).isEmpty)
        #expect(output.checkInvariants(lastOperation: 8, lastGraph: 3).count == 2)
        output.publish { _ in Report(sequence: 9, kind: .ready, at: 0) }
        #expect(output.checkInvariants(lastOperation: 7, lastGraph: 2).count == 1)
    }

    @Test func `an effect of this turn is withdrawn once`() {
        var output = Output(sequence: 0, nextOperation: 1, nextGraph: 1)
        output.emit(.revokeStaged)
        output.emit(.observeStart(OperationID(1)))
        output.emit(.revokeStaged)
        output.withdraw(.revokeStaged)
        output.withdraw(.acknowledge(AttemptID(OperationID(1), 1)))
        #expect(output.transition.effects == [.revokeStaged, .observeStart(OperationID(1))])
        output.withdrawAll(.revokeStaged)
        #expect(output.endTurn().effects == [.observeStart(OperationID(1))])
    }
}

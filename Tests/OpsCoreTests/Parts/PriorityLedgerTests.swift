import Testing

@testable import OpsCore

@Suite("Priority ledger")
struct PriorityLedgerTests {
    private let operation = OperationIndex(rawValue: 1)
    private let category = CategoryIndex(rawValue: 2)

    @Test func `claims are recounted before operations, and sources come last`() {
        var ledger = PriorityLedger()
        ledger.replaceClaim(.min, by: 5)
        ledger.requestTrace(of: .start(operation), at: 5)
        ledger.invalidate(operation)
        ledger.invalidate(category)
        #expect(!ledger.isEmpty)
        #expect(ledger.popNext() == .claim(category))
        #expect(ledger.popNext() == .operation(operation))
        #expect(ledger.popNext() == .source(.start(operation)))
        #expect(ledger.popNext() == nil && ledger.isEmpty)
    }

    @Test func `a source is traced only at the priority of a claim`() {
        var ledger = PriorityLedger()
        ledger.replaceClaim(.min, by: 5)
        ledger.requestTrace(of: .start(operation), at: 4)
        #expect(ledger.isEmpty && !ledger.mayCycle(at: 4) && ledger.mayCycle(at: 5))
        ledger.replaceClaim(5, by: .min)
        #expect(!ledger.mayCycle(at: 5))
    }

    @Test func `recounts of operations that leave are dropped, and others stay`() {
        var ledger = PriorityLedger()
        let other = OperationIndex(rawValue: 2)
        ledger.replaceClaim(.min, by: 5)
        for operation in [operation, other] {
            ledger.invalidate(operation)
            ledger.requestTrace(of: .end(operation), at: 5)
        }
        ledger.drop { $0 == operation }
        #expect(ledger.popNext() == .operation(other))
        #expect(ledger.popNext() == .source(.end(other)))
        #expect(ledger.isEmpty)
    }

    @Test func `miscounted claims and outstanding recounts are reported`() {
        var ledger = PriorityLedger()
        ledger.replaceClaim(.min, by: 5)
        #expect(ledger.checkInvariants(held: [.min, 5]).isEmpty)
        #expect(ledger.checkInvariants(held: [5, 5]).count == 1)
        ledger.invalidate(operation)
        #expect(ledger.checkInvariants(held: [5]).count == 1)
    }
}

import Testing

@testable import OpsCore

@Suite("Work budget")
struct WorkBudgetTests {
    @Test func `without a limit nothing is put off`() {
        var budget = WorkBudget()
        #expect(budget.spend(.max) == true)
        #expect(!budget.hasPutOff && !budget.isLimited)
    }

    @Test func `work beyond the limit is put off, and all work after it`() {
        var budget = WorkBudget()
        budget.begin(10)
        #expect(budget.spend(10) == true)
        #expect(budget.checkInvariants().count == 1, "the turn has not ended")
        #expect(budget.spend(1) == false)
        #expect(budget.spend(0) == false)
        budget.end()
        #expect(budget.hasPutOff && !budget.isLimited && budget.checkInvariants().isEmpty)
        budget.begin(.max)
        #expect(!budget.hasPutOff)
    }
}

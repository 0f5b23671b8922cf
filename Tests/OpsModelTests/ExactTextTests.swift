import OpsModel
import Testing

@Suite struct ExactTextTests {
    @Test func `texts with the same characters in other bytes are different`() {
        let (one, two) = ("\u{e9}", "e\u{301}")
        #expect(one == two, "Swift's strings compare characters")
        #expect(ExactText(one) != ExactText(two))
        #expect(ExactText(one) == ExactText("\u{e9}"))
        #expect(Set([one, two, one, ""].map(ExactText.init)).count == 3)
    }
}

import Testing

@testable import opsctl

@Suite struct PlaceholdersTests {
    @Test func `values in a text for the shell are quoted unless they are plain`() {
        func filled(_ value: String) -> String { Placeholders(value: value, number: 1).fillShell("cat {} > {#}") }
        #expect(filled("dir/a_b-c.txt") == "cat dir/a_b-c.txt > 1")
        #expect(filled("a b") == "cat 'a b' > 1")
        #expect(filled("it's; rm") == "cat 'it'\\''s; rm' > 1")
        #expect(filled("'\u{301}") == "cat ''\\''\u{301}' > 1")
        #expect(filled("") == "cat '' > 1")
    }
}

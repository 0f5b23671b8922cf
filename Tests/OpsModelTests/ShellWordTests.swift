import OpsModel
import Testing

@Suite struct ShellWordTests {
    @Test(arguments: [
        ("it's", "'it'\\''s'"), ("", "''"), ("$a `b` \"c\" \\", "'$a `b` \"c\" \\'"),
        ("'\u{301}; touch x; '\u{301}", "''\\''\u{301}; touch x; '\\''\u{301}'"),
    ])
    func `a quoted word has no quote that a shell would take for its end`(word: String, quoted: String) {
        // Texts that differ only in the bytes of a character would be equal as strings.
        #expect(Array(ShellWord.quoted(word).utf8) == Array(quoted.utf8))
    }

    @Test func `a typed word is quoted only if it is not plain`() {
        for word in ["a-b_c/d.e:f=g,h+i@j%k", "0"] { #expect(ShellWord.typed(word) == word) }
        for word in ["", "a b", "~", "{a,b}", "ä", "*", "'\u{301}"] {
            #expect(ShellWord.typed(word) == ShellWord.quoted(word))
        }
    }
}

import Testing

@testable import OpsYAML

@Suite struct YAMLDocumentTests {
    private func json(_ text: String) throws -> String {
        String(decoding: try YAMLDocument(Array(text.utf8)).json, as: UTF8.self)
    }

    private func problems(_ text: String) -> [String] { problems(Array(text.utf8)) }

    private func problems(_ text: [UInt8]) -> [String] {
        do throws(YAMLProblems) {
            _ = try YAMLDocument(text)
            return []
        } catch {
            return error.all.map { "\($0.position.line):\($0.position.column): \($0.reason)" }
        }
    }

    @Test(arguments: [
        ("on", #""on""#), ("no", #""no""#), ("22:00", #""22:00""#), ("1_000", #""1_000""#), ("12e03", "12e03"),
        ("true", "true"), ("~", "null"), ("", ""), ("012", "12"), ("-0", "-0"), ("0o17", "15"), ("0xff", "255"),
        ("+1.50", "1.50"), (".5", "0.5"), ("7.", "7"), ("1.2.3", #""1.2.3""#), ("'1'", #""1""#),
        ("\"true\"", #""true""#),
        ("!!str 1", #""1""#), ("0o", #""0o""#), ("-", "[null]"), ("- ", "[null]"),
        ("{a: 1, b: [x, 'y']}", #"{"a":1,"b":["x","y"]}"#),
        ("|\n a\n b\n", #""a\nb\n""#), ("2026-11-23", #""2026-11-23""#), ("٣", "\"٣\""),
    ])
    func `scalars are those of the core schema`(text: String, expected: String) throws {
        #expect(try json(text) == expected)
    }

    @Test func `anchors and merge keys work`() throws {
        let text = """
            base: &base {a: 1, b: 2}
            other: &other {b: 3, c: 4}
            one: {<<: *base, b: 5}
            two:
              <<: [*base, *other]
              "<<": plain
            again: *base
            """
        #expect(
            try json(text)
                == #"{"base":{"a":1,"b":2},"other":{"b":3,"c":4},"one":{"b":5,"a":1},"#
                + #""two":{"<<":"plain","a":1,"b":2,"c":4},"again":{"a":1,"b":2}}"#)
    }

    @Test func `an alias of a text can be a key`() throws {
        #expect(try json("a: &k name\nb: {*k : x, c: *k}\n") == #"{"a":"name","b":{"name":"x","c":"name"}}"#)
        #expect(try json("a: {&k <<: {b: 1}}\nc: *k\n") == #"{"a":{"b":1},"c":"<<"}"#)
        let document = try YAMLDocument(Array("a: &k name\nb: {name: x, *k : y}\n".utf8))
        #expect(document.repeatedKeys.map(\.reason) == ["the key \"name\" occurs twice"])
        #expect(document.repeatedKeys.map(\.position) == [YAMLPosition(line: 2, column: 14)])
        #expect(problems("a: &k [x]\nb: {*k : y}\n") == ["2:5: a key must be a text"])
    }

    @Test func `aliases that expand to more than the limit of keys are refused`() {
        func problems(uses: Int) -> [String] {
            let key = String(repeating: "x", count: 1 << 17)
            let list = Array(repeating: "{*k : 1}", count: uses).joined(separator: ", ")
            return self.problems("a: &k \(key)\nb: [\(list)]\n")
        }
        #expect(problems(uses: 8) == [])
        #expect(problems(uses: 9).first?.contains("aliases that are keys expand to more than 1M") == true)
    }

    @Test func `all problems are reported with line and column`() {
        let text = """
            a: 1
            b: {c: 1, c: 2}
            a: *nothing
            d: !mine 3
            ? [x]
            : .inf
            """
        #expect(
            problems(text) == [
                "2:11: the key \"c\" occurs twice", "3:1: the key \"a\" occurs twice",
                "3:4: no anchor &nothing is defined before this", "4:4: unknown tag !mine", "5:3: a key must be a text",
                "6:3: .inf is not a number that a graph can have",
            ])
        #expect(problems("a: [1,\nb: }") != [])
        #expect(problems("a: 1\n---\nb: 2").first?.hasPrefix("2:1: a second document begins") == true)
        #expect(problems("a: &x [*x]").first == "1:8: *x is inside the value that it refers to")
        #expect(problems("a: 1\n<<: 3").first == "2:5: << merges a mapping, or a list of mappings")
    }

    @Test func `the first of two equal keys counts, and the second is reported`() throws {
        let document = try YAMLDocument(Array("a: 1\nb: {c: 1, d: 2, c: 3}\na: {e: 1, e: 2}\n".utf8))
        #expect(String(decoding: document.json, as: UTF8.self) == #"{"a":1,"b":{"c":1,"d":2}}"#)
        #expect(document.repeatedKeys.map(\.position.line) == [2, 3, 3])
        #expect(document.repeatedKeys.map(\.position.column) == [17, 1, 11])
    }

    @Test func `a byte that cannot be part of a text is reported with line and column`() {
        for (byte, reason) in [(0xff, "invalid leading UTF-8 octet"), (0x01, "control characters are not allowed")]
            as [(UInt8, String)]
        {
            #expect(problems(Array("a: 1\nb: é".utf8) + [byte]) == ["2:5: \(reason)"])
            #expect(problems([byte]) == ["1:1: \(reason)"])
        }
    }

    @Test func `aliases that expand to more than the limit are refused`() {
        var text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
        for level in 1...12 {
            text +=
                "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
                + "]\n"
        }
        #expect(problems(text).first?.contains("aliases expand to more than 64M") == true)
    }

    @Test func `aliases that merge more than the limit are refused`() {
        var text = "a0: &a0 {x: 1}\n"
        for level in 1...40 { text += "a\(level): &a\(level) {<<: [*a\(level - 1), *a\(level - 1)]}\n" }
        #expect(problems(text).isEmpty, "each mapping has one member")
    }

    @Test func `nesting is bounded`() {
        let text = String(repeating: "[", count: 100_000)
        #expect(problems(text).first?.contains("nested more than 92 deep") == true)
    }

    @Test func `merged keys that differ only in their bytes are two keys`() throws {
        let document = try YAMLDocument(Array("a: {<<: {\u{e9}: 1}, e\u{301}: 2}\n".utf8))
        #expect(document.json.count { $0 == UInt8(ascii: ":") } == 3)
    }

    @Test func `aliases count as deep as the values that they repeat`() {
        // Only the first value of a repeated key is written, so these aliases expand to nothing.
        var text = "a: &a0 []\n"
        for level in 1...60_000 { text += "a: &a\(level) [*a\(level - 1)]\n" }
        text += "b: *a60000\n"
        #expect(problems(text).contains { $0.contains("nested more than 92 deep") })
    }

    @Test func `marks give the positions of keys and elements`() throws {
        let document = try YAMLDocument(Array("a:\n  - b\n  - c: 1\n".utf8))
        #expect(document.marks.map(\.position.line) == [1, 2, 3, 3])
        #expect(document.marks.map(\.position.column) == [1, 5, 5, 5])
    }
}

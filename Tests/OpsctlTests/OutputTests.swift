import Glibc
import OpsClient
import OpsDrawing
import OpsWire
import Testing

@testable import opsctl

@Suite struct OutputTests {
    @Test func `a long name keeps its beginning and its end`() {
        #expect(DisplayWidth.fitName("cycles_output_parser_17", 30) == "cycles_output_parser_17")
        #expect(DisplayWidth.fitName("cycles_output_parser_17", 15) == "cycles_…rser_17")
        #expect(DisplayWidth.fitName("漢字漢字漢字漢字漢字", 11) == "漢字漢…漢字")
        #expect(DisplayWidth.fitName("cycles_output_parser_17", 5) == "cycl…")
    }

    @Test(arguments: [
        ("de_DE.UTF-8", Charset.unicode), ("C.utf8", .unicode), ("en_US.utf-8@euro", .unicode), ("C", .ascii),
        ("de_DE.ISO-8859-1", .ascii), ("de_DE.ISO-8859-15@utf8", .ascii), ("utf8", .ascii), ("en.", .ascii),
    ])
    func `the charset is that of the locale`(locale: String, charset: Charset) {
        #expect(Charset(locale: locale) == charset)
    }

    @Test func `display widths count terminal cells`() {
        #expect(DisplayWidth.of("abc") == 3)
        #expect(DisplayWidth.of("日本語") == 6)
        #expect(DisplayWidth.of("e\u{301}") == 1)
        #expect(DisplayWidth.of("👍🏽") == 2)
        #expect(DisplayWidth.fit("日本語", 5) == "日本…")
        #expect(DisplayWidth.fit("日本語", 4) == "日…")
        #expect(DisplayWidth.fit("abc", 3) == "abc")
    }

    @Test func `the table of operations shows the cause of a success, but not its status text`() {
        func cause(_ outcome: OutcomeName?, _ cause: String?) -> [String] {
            let row = OperationRow.with { row in
                row.state = outcome == nil ? .executing : .finished
                (row.outcome, row.cause, row.statusText) = (outcome, cause, "half way")
            }
            return LsVerb.cells(row, [.cause], .now).map(\.text)
        }
        #expect(cause(.succeeded, "up to date") == ["up to date"])
        #expect(cause(.succeeded, nil) == [""])
        #expect(cause(.failed, "exit status 2") == ["exit status 2"])
        #expect(cause(nil, nil) == ["half way"])
    }

    @Test func `control characters in foreign text are not printed`() {
        #expect("a\u{1b}[2Jb\nc\u{9b}d".printable == "a?[2Jb c?d")
    }

    @Test func `characters that are not seen are replaced`() {
        let invisible = [
            "\u{ad}", "\u{61c}", "\u{200b}", "\u{200d}", "\u{200e}", "\u{2028}", "\u{2029}", "\u{202e}", "\u{2060}",
            "\u{2066}",
            "\u{2069}", "\u{feff}", "\u{fff9}", "\u{1d173}", "\u{e0001}", "\u{e0041}", "\u{e0002}", "\u{115f}",
            "\u{3164}", "\u{34f}",
        ]
        for text in invisible { #expect("a\(text)b".printable == "a?b", "\(text.unicodeScalars.map(\.value))") }
        // Combining marks, wide characters and the emoji form of a sign stay.
        for text in ["e\u{301}", "日本語", "👍🏽", "❤\u{fe0f}", "שלום", "a\u{a0}b"] { #expect(text.printable == text) }
        #expect(Table.Cell("x\u{202e}y").text == "x?y")
    }

    @Test func `only colours of a line of a log take effect on a terminal`() {
        func shown(_ text: String) -> String {
            String(decoding: TerminalOutput.line(Array(text.utf8)[...]), as: UTF8.self)
        }
        #expect(shown("a\tb ä 日 👍🏽 e\u{301}") == "a\tb ä 日 👍🏽 e\u{301}")
        #expect(shown("\u{1b}]0;title\u{7}\u{1b}[2J\rfake\u{8}\u{7f}") == "?]0;title??[2J?fake??")
        #expect(shown("\u{9b}2J\u{202e}x\u{200b}") == "?2J?x?")
        #expect(shown("end\r") == "end")
        // A colour must not hide the name before the next line.
        #expect(shown("\u{1b}[1;31mred\u{1b}[K") == "\u{1b}[1;31mred\u{1b}[K\u{1b}[0m")
        #expect(shown("\u{1b}[38:2::1:2:3mx") == "\u{1b}[38:2::1:2:3mx\u{1b}[0m")
        for sequence in ["[1K", "[2A", "[?25l", "[3\u{1b}", "c", "[", ""] {
            let clean = sequence.replacing("\u{1b}", with: "?")
            #expect(shown("\u{1b}" + sequence) == "?" + clean, "\(sequence)")
        }
        #expect(TerminalOutput.line([0x61, 0xe4, 0x62, 0x9b, 0xe6, 0x97]) == Array("a?b???".utf8))
    }

    @Test func `pieces of a log are shown like the whole log`() {
        let text = Array("\u{1b}[32mgrün\u{1b}[0m 10%\r20%\u{8} 日\u{1b}[2J\n".utf8)
        let whole = Array("\u{1b}[32mgrün\u{1b}[0m 10%\r20%\u{8} 日?[2J\n\u{1b}[0m".utf8)
        for cut in 0...text.count {
            var output = TerminalOutput(allowsOverwriting: true)
            var shown = output.add(text[..<cut])
            shown += output.add(text[cut...])
            shown += output.finish()
            #expect(shown == whole, "cut at \(cut)")
        }
    }

    @Test func `JSON for a terminal escapes what a terminal acts on`() throws {
        let text = #"{"a":"\#u{7f}\#u{9b}2J ä \#u{202e}x 日 \#u{e0041}"}"#
        let escaped = JSONText.escapingInvisible(Array(text.utf8))
        #expect(
            String(decoding: escaped, as: UTF8.self) == #"{"a":"\u007f\u009b2J ä \u202ex 日 \udb40\udc41"}"#)
        #expect(try JSONValue(escaped) == JSONValue(Array(text.utf8)), "and reads as the same")
    }

    @Test func `tables are aligned and fit the width`() throws {
        let columns: [Table.Column] = [.init("ID", right: true), .init("NAME", elastic: true), .init("STATE")]
        func lines(_ width: Int?) throws -> [String] {
            let lines = LineCollector()
            var table = Table(columns, style: Style(isColoured: false), columns: width)
            try table.add(["1", "short", "ready"], to: lines)
            try table.add(["12", "a name that is rather long", "executing"], to: lines)
            try table.finish(lines)
            return lines.lines
        }
        #expect(
            try lines(nil) == [
                "ID  NAME                        STATE", " 1  short                       ready",
                "12  a name that is rather long  executing",
            ])
        #expect(
            try lines(30) == [
                "ID  NAME             STATE", " 1  short            ready", "12  a name that is…  executing",
            ])
    }

    @Test func `durations are shown in at most two units`() {
        let texts = [0, 999, 3200, 59_999, 65_000, 7_380_000, 352_800_000].map { Span(milliseconds: $0).text }
        #expect(texts == ["0ms", "999ms", "3.2s", "59s", "1m05s", "2h03m", "4d02h"])
    }

    @Test func `common ways to write a time are understood`() throws {
        let now = try #require(Instant.rfc3339("2027-01-31T12:00:00Z"))
        #expect(Instant.parse("2027-01-31T13:00:00+01:00", now: now) == now)
        let next = try #require(Instant.parse("22:00", now: now))
        #expect(next > now && next - now <= Span(milliseconds: 86_400_000))
        #expect(try #require(Instant.parse("tomorrow 06:00", now: now)) > now)
        for (form, same) in [
            ("6am", "06:00"), ("6:30pm", "18:30"), ("12am", "0:00"), ("12:15pm", "12:15"), ("noon", "12:00"),
            ("10:00 tomorrow", "tomorrow 10:00"), ("9pm tomorrow", "tomorrow 21:00"), ("06:00 Mon", "Mon 06:00"),
            ("in 5 minutes", "+5m"), ("now + 5 minutes", "+5m"),
        ] {
            let instant = try #require(Instant.parse(form, now: now), "\(form)")
            #expect(instant == Instant.parse(same, now: now), "\(form)")
        }
        for wrong in ["", "soon", "25:00", "2027-13-01", "12", "13pm", "22:00x", "1500-01-31", "2500-01-31"] {
            #expect(Instant.parse(wrong, now: now) == nil, "\(wrong)")
        }
    }

    @Test func `a day that its month does not have is no instant`() throws {
        let now = try #require(Instant.rfc3339("2027-01-31T12:00:00Z"))
        for wrong in ["2027-02-29", "2027-02-30 10:00", "2027-04-31T10:00", "2027-06-00"] {
            #expect(Instant.parse(wrong, now: now) == nil, "\(wrong)")
        }
        #expect(Instant.parse("2028-02-29 10:00", now: now)?.dateAndClock == "2028-02-29 10:00:00")
    }

    @Test func `the past begins in 1970`() throws {
        let now = try #require(Instant.rfc3339("2027-01-31T12:00:00Z"))
        #expect(Instant.past("36525d", now: now)?.nanoseconds == 0)
        #expect(Instant.past("1h", now: now)?.rfc3339 == "2027-01-31T11:00:00.000Z")
    }

    @Test(arguments: ["Sun", "Mon", "tue", "Tue", "WED", "Thu", "Thursday", "Fri", "Saturday"])
    func `a day of the week is the next one, or the last one of the past`(day: String) throws {
        let now = try #require(Instant.rfc3339("2027-01-31T12:00:00Z"))
        let week = Span(milliseconds: 7 * 86_400_000)
        let next = try #require(Instant.parse("\(day) 10:00", now: now))
        #expect(next > now && next - now <= week)
        let last = try #require(Instant.past("\(day) 10:00", now: now))
        #expect(next - last == week)
    }

    @Test func `weeks are read in full`() throws {
        let now = try #require(Instant.rfc3339("2027-01-31T12:00:00Z"))
        #expect(Instant.parse("in 2 weeks", now: now) == Instant.parse("+14d", now: now))
        #expect(Instant.parse("+1 week", now: now) == Instant.parse("+7d", now: now))
        for wrong in ["+2 xx weeks", "+2000000000000000000 weeks", "Tomorrow 25:00", "Tuna 10:00"] {
            #expect(Instant.parse(wrong, now: now) == nil, "\(wrong)")
        }
        #expect(Instant.parse("2027-03-01T10:00", now: now) == Instant.parse("2027-03-01 10:00", now: now))
    }

    @Test func `progress bars fill in eighths of a cell`() {
        #expect(ProgressBar.text(done: 0, total: 4, cells: 4) == "░░░░ 0%")
        #expect(ProgressBar.text(done: 3, total: 8, cells: 4) == "█▌░░ 37%")
        #expect(ProgressBar.text(done: 9, total: 8, cells: 4) == "████ 100%")
        #expect(ProgressBar.text(done: 9, total: nil, cells: 4) == "9")
    }

    @Test(arguments: [
        ("operation", "g67", "name a graph with --graph: opsctl ls --graph g67"),
        ("operation", "g", "did you mean b?"), ("operation", "g6b", "did you mean b?"),
        ("graph", "g67", "did you mean b?"), ("operation", "lon@g23", "see opsctl ls --graph g23"),
    ])
    func `the id of a graph in place of an operation gets its own advice`(kind: String, name: String, advice: String) {
        let error = ControlError.notFound(kind: kind, name: name, nearest: "b")
        let failure = Failure(ClientError.refused(.control(error)))
        #expect(failure.status == .notFound && failure.lines == ["opsctl: no \(kind) \(name), \(advice)"])
    }

    @Test func `a graph that does not exist gets advice`() {
        let error = ControlError.notFound(kind: "graph", name: "g99", nearest: nil)
        #expect(Failure(ClientError.refused(.control(error))).lines == ["opsctl: no graph g99, see opsctl graph"])
    }

    @Test func `a list of errors that may be incomplete says so`() {
        func lines(_ count: Int) -> [String] {
            let problems = (0..<count).map { index in
                Problem.with {
                    $0.index = index
                    $0.message = "is wrong"
                }
            }
            return Failure(ClientError.refused(.control(.invalidOperation(problems)))).lines
        }
        #expect(lines(99).count == 99 && lines(99).last == "opsctl: operation 99: is wrong")
        #expect(lines(100).count == 101)
        #expect(lines(100).last == "opsctl: the search for errors ended after 100; there may be more")
    }

    @Test func `the advice without a daemon names the service of the socket`() {
        let named = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
        let own = (named.isEmpty ? "/run/user/\(getuid())" : named) + "/opsd/control.sock"
        let commands = [own: "systemctl --user start opsd", "/run/opsd/control.sock": "systemctl start opsd"]
        for (path, command) in commands {
            let failure = Failure(ClientError.unreachable(path: path, errno: ENOENT))
            #expect(failure.lines.count == 1 && failure.lines[0].contains("\"\(command)\""), "\(failure.lines)")
        }
    }
}

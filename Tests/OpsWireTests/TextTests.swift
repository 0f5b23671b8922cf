import Testing

@testable import OpsWire

@Suite struct TextTests {
    @Test(
        arguments: [
            ("90s", 90_000_000_000), ("1h30m", 5_400_000_000_000), ("250ms", 250_000_000), ("5m", 300_000_000_000),
            ("1.5h", 5_400_000_000_000), ("90", 90_000_000_000), ("0.25", 250_000_000), ("0s", 0),
            ("1w2d", 777_600_000_000_000),
            ("10us", 10_000), ("1ns", 1), ("1h 30m", 5_400_000_000_000), ("2min", 120_000_000_000),
            ("36525d", Limits.duration.nanoseconds),
        ] as [(String, Int64)])
    func `durations are parsed`(text: String, nanoseconds: Int64) {
        #expect(DurationText.parse(text)?.nanoseconds == nanoseconds)
    }

    @Test(arguments: [
        "", "s", "-5s", "+5s", "5x", "5 s", " 5s", "1h30", "1..5s", "1.s", ".5s", "1e3s", "99999999999h", "36526d",
        "NaN", "ͣ5s", "5S",
    ])
    func `invalid durations are refused`(text: String) { #expect(DurationText.parse(text) == nil) }

    @Test(
        arguments: [
            ("", .unreadable), ("5x", .unreadable), ("-", .unreadable), ("-5x", .unreadable), ("--5s", .unreadable),
            ("-5s", .negative), ("-1", .negative), ("-99999999999h", .negative), ("99999999999h", .tooLong),
            ("36526d", .tooLong),
        ] as [(String, DurationText.Problem)])
    func `the reason why a text is no duration is known`(text: String, problem: DurationText.Problem) {
        #expect(DurationText.problem(in: text) == problem)
    }

    @Test func `a duration may be a number of seconds`() throws {
        #expect(try DurationText.read(seconds: 1.5) == .milliseconds(1500))
        #expect(try DurationText.read(seconds: 0) == .zero)
        let refused: [(Double, DurationText.Problem)] = [
            (-1, .negative), (.nan, .unreadable), (.infinity, .tooLong), (1e300, .tooLong),
        ]
        for (seconds, problem) in refused {
            #expect(throws: problem) { try DurationText.read(seconds: seconds) }
        }
    }

    @Test func `formatted durations are parsed back`() {
        #expect(DurationText.format(.zero) == "0s")
        #expect(DurationText.format(.seconds(90)) == "1m30s")
        #expect(DurationText.format(.seconds(5400)) == "1h30m")
        #expect(DurationText.format(.milliseconds(1250)) == "1s250ms")
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let longest = Int64.random(in: 0...Limits.duration.nanoseconds, using: &random)
            let value = TimeSpan(nanoseconds: longest >> Int64.random(in: 0..<62, using: &random))
            #expect(DurationText.parse(DurationText.format(value)) == value)
        }
    }

    @Test(
        arguments: [
            ("64M", 64 << 20), ("2G", 2 << 30), ("1.5K", 1536), ("10", 10), ("0", 0), ("1GiB", 1 << 30), ("3kb", 3072),
            ("4T", 4 << 40),
        ] as [(String, Int64)])
    func `sizes are parsed`(text: String, bytes: Int64) {
        #expect(SizeText.parse(text) == bytes)
        #expect(SizeText.parse(SizeText.format(bytes)) == bytes)
    }

    @Test(arguments: ["", "M", "-1M", "1X", "1 M", "9999999999G", "1M5K"])
    func `invalid sizes are refused`(text: String) { #expect(SizeText.parse(text) == nil) }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-21T06:40:00.123Z", 1_795_243_200_123_000_000),
            ("2000-02-29T12:00:00+01:00", 951_822_000_000_000_000),
            ("2026-11-21t06:40:00.5-00:30", 1_795_245_000_500_000_000),
            ("2024-12-31T23:59:60Z", 1_735_689_600_000_000_000), ("2262-04-11T23:47:16.854775807Z", Int64.max),
            ("1970-01-01 00:00:00.1234567899Z", 123_456_789),
        ] as [(String, Int64)])
    func `instants are parsed`(text: String, nanoseconds: Int64) {
        #expect(InstantText.parse(text)?.nanoseconds == nanoseconds)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T06:40:00", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+0100", "2026-01-01T00:00:00+25:00", "2026-01-01T00:00:00Zz",
        "1969-12-31T23:59:59Z", "2262-04-11T23:47:17Z", "9999-01-01T00:00:00Z", "2026-1-01T00:00:00.00Z",
        "+026-01-01T00:00:00Z",
    ])
    func `invalid instants are refused`(text: String) { #expect(InstantText.parse(text) == nil) }

    @Test func `formatted instants are parsed back`() {
        #expect(InstantText.format(.zero) == "1970-01-01T00:00:00.000Z")
        #expect(InstantText.format(.zero + .nanoseconds(1_795_243_200_123_999_999)) == "2026-11-21T06:40:00.123Z")
        #expect(InstantText.format(.zero + .nanoseconds(-1)) == "1969-12-31T23:59:59.999Z")
        #expect(InstantText.format(.distantPast) == "1677-09-21T00:12:43.145Z")
        #expect(InstantText.format(.distantFuture) == "2262-04-11T23:47:16.854Z")
        var random = SeededGenerator(seed: 2)
        for _ in 0..<2000 {
            let value = WallInstant.zero + .milliseconds(Int64.random(in: 0..<9_223_372_036_000, using: &random))
            #expect(InstantText.parse(InstantText.format(value)) == value)
        }
    }

    @Test func `days and civil dates convert to each other without gaps`() {
        for day in Int64(-200_000)...200_000 {
            let (year, month, date) = InstantText.civil(fromDays: day)
            #expect(InstantText.daysFromCivil(year, month, date) == day)
        }
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy"),
    ])
    func `Base64 is encoded and decoded as in RFC 4648`(text: String, encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(text.utf8))
    }

    @Test(arguments: ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "=AAA", "Zg==Zg==", "Zm9v\n", "Zm-v", "A==="])
    func `invalid Base64 is refused`(text: String) { #expect(Base64.decode(text) == nil) }

    @Test func `bytes encoded in Base64 are decoded back`() {
        for length in 0...64 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ length) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
    }

    @Test func `the nearest name to a mistyped one is found`() {
        let keys = ["name", "command", "shell", "queue", "priority", "after", "timeout", "timeouts"]
        #expect(Nearest.name(to: "comand", among: keys) == "command")
        #expect(Nearest.name(to: "qeueu", among: keys) == "queue")
        #expect(Nearest.name(to: "Priority", among: keys) == "priority")
        #expect(Nearest.name(to: "tiemout", among: keys) == "timeout")
        #expect(Nearest.name(to: "frobnicate", among: keys) == nil)
        #expect(Nearest.name(to: "name", among: ["name"]) == nil)
        #expect(Nearest.name(to: "", among: keys) == nil)
        #expect(Nearest.suggestion(for: "shel", among: keys) == "; did you mean \"shell\"?")
    }
}

/// SplitMix64: the same numbers for the same seed on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

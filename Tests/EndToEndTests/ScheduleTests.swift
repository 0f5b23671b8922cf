import Testing

/// `schedule next --at` works without a daemon, so there is none here.
@Suite struct ScheduleTests {
    private func next(_ arguments: String..., zone: String = "UTC") throws -> Output {
        var environment = Machine.environment
        environment["TZ"] = zone
        environment["OPS_SOCKET"] = "/nowhere/control.sock"
        return try Command(
            Machine.programs + "/opsctl", ["schedule", "next"] + arguments, environment: environment, in: "/"
        ).wait()
    }

    @Test func `the next instants are shown in local time and UTC`() throws {
        let output = try next(
            "--at", "0 3 * * 1-5", "--zone", "Europe/Berlin", "--after", "2026-11-20T12:00:00Z", "-n", "2")
        #expect(output.status == 0, "\(output.err)")
        #expect(
            output.lines == [
                "LOCAL TIME                      UTC                   CLOCKS",
                "Mon 2026-11-23 03:00:00 +01:00  2026-11-23T02:00:00Z",
                "Tue 2026-11-24 03:00:00 +01:00  2026-11-24T02:00:00Z",
            ])
        #expect(output.err.isEmpty)
    }

    @Test func `days on which clocks change are marked`() throws {
        let output = try next(
            "--at", "30 2 * * *", "--zone", "Europe/Berlin", "--after", "2026-03-28T12:00:00Z", "-n", "2")
        #expect(
            output.lines.dropFirst() == [
                "Sun 2026-03-29 03:00:00 +02:00  2026-03-29T01:00:00Z  02:00:00 becomes 03:00:00",
                "Mon 2026-03-30 02:30:00 +02:00  2026-03-30T00:30:00Z",
            ])
    }

    @Test func `a change of the clock that skips a day is shown with both dates`() throws {
        let output = try next(
            "--at", "0 3 * * *", "--zone", "Pacific/Apia", "--after", "2011-12-29T13:00:00Z", "-n", "1")
        #expect(
            output.lines.dropFirst() == [
                "Sat 2011-12-31 00:00:00 +14:00  2011-12-30T10:00:00Z  2011-12-30 00:00:00 becomes 2011-12-31 00:00:00"
            ])
    }

    @Test func `JSON has the nominal instant, the local time and the start`() throws {
        let output = try next(
            "--at", "daily", "--after", "2026-10-24T12:00:00Z", "-n", "1", "--json", zone: "America/New_York")
        #expect(
            output.out
                == #"{"nominal":"2026-10-25T04:00:00.000Z","local":"2026-10-25T00:00:00-04:00","start":"2026-10-25T04:00:00.000Z"}"#
                + "\n")
    }

    @Test func `an instant of several expressions counts once`() throws {
        let output = try next(
            "--at", "0 * * * *", "--at", "*:0/30", "--at", "every 90m", "--after", "2026-01-01T00:00:00Z", "-n", "4",
            "--json")
        #expect(
            try output.objects.map { $0["nominal"] as? String } == [
                "2026-01-01T00:30:00.000Z", "2026-01-01T01:00:00.000Z", "2026-01-01T01:30:00.000Z",
                "2026-01-01T02:00:00.000Z",
            ])
    }

    /// A zone in the expression overrides the default of `--zone`, which is `TZ`.
    @Test(arguments: [
        ("UTC", "daily", "+00:00"), ("", "daily", "+00:00"), (":Asia/Kathmandu", "daily", "+05:45"),
        ("/usr/share/zoneinfo/Asia/Kathmandu", "daily", "+05:45"), ("XXX-7:15", "daily", "+07:15"),
        ("UTC", "daily Asia/Kathmandu", "+05:45"), ("Asia/Kathmandu", "daily utc", "+00:00"),
    ])
    func `the zone is that of the expression, or of TZ`(zone: String, expression: String, offset: String) throws {
        let output = try next("--at", expression, "-n", "1", "--json", zone: zone)
        #expect(output.status == 0, "\(output.err)")
        #expect((try output.object["local"] as? String)?.hasSuffix("T00:00:00" + offset) == true)
    }

    @Test func `UTC may be written in lower case`() throws {
        let output = try next("--at", "daily", "--zone", "utc", "-n", "1", "--json", zone: "Asia/Kathmandu")
        #expect(output.status == 0, "\(output.err)")
        #expect((try output.object["local"] as? String)?.hasSuffix("T00:00:00+00:00") == true)
    }

    @Test(
        arguments: [
            (
                ["--at", "61 * * * *"],
                "opsctl: --at: \"61 * * * *\": minute 61 is out of range (column 1); write 0 to 59\n"
            ),
            (
                ["--at", "daily", "--zone", "Mars/Phobos"],
                "opsctl: schedule next: there is no time zone \"Mars/Phobos\", write one such as UTC or Europe/Berlin; the package tzdata has them\n"
            ),
            (
                ["--at", "daily", "--zone", "../../etc/passwd"],
                "opsctl: schedule next: there is no time zone \"../../etc/passwd\", write one such as UTC or Europe/Berlin; the package tzdata has them\n"
            ),
            (
                ["--at", "daily", "--zone", "Europe"],
                "opsctl: schedule next: there is no time zone \"Europe\", write one such as UTC or Europe/Berlin; the package tzdata has them\n"
            ),
            (
                ["--at", "0 0 30 2 *", "--after", "2026-01-01T00:00:00Z"],
                "opsctl: schedule next: \"0 0 30 2 *\" has no instant after 2026-01-01T00:00:00.000Z, its day never comes, or its years are over\n"
            ),
        ] as [([String], String)])
    func `a wrong expression, a zone that is not there, and one that never comes are refused with 5`(
        arguments: [String], message: String
    ) throws {
        var environment = Machine.environment
        environment["TZ"] = "UTC"
        let output = try Command(
            Machine.programs + "/opsctl", ["schedule", "next"] + arguments, environment: environment, in: "/"
        ).wait()
        #expect(output.status == 5)
        #expect(output.err == message)
        #expect(output.out.isEmpty)
    }

    @Test func `a call without an expression is a mistake of usage`() throws {
        #expect(try next().status == 2)
        #expect(try next("--at", "daily", "--after", "yesterday-ish").status == 2)
    }

    @Test func `a step that does not divide its range is shown with a warning`() throws {
        let output = try next("--at", "*/7 * * * *", "-n", "1")
        #expect(output.status == 0)
        #expect(output.err == "opsctl: warning: \"*/7\": 7 does not divide 60; the minute after 56 is 0\n")
    }

    @Test func `expressions that events cause have no instants`() throws {
        let output = try next("--at", "afterFinish 10m")
        #expect(output.status == 0)
        #expect(output.out.isEmpty)
        #expect(
            output.err
                == "opsctl: \"afterFinish 10m\" starts after an event: the calendar has no instants of it\n")
    }
}

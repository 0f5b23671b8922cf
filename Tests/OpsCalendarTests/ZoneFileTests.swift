import Foundation
import Testing

@testable import OpsCalendar

@Suite struct ZoneFileTests {
    /// Returns a zone file with one type of local time per offset, and changes at instants.
    private func file(
        version: Character = "2", offsets: [Int32] = [3600], changes: [(at: Int64, type: UInt8)] = [],
        leapSeconds: UInt32 = 0, footer: String = ""
    ) -> [UInt8] {
        func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian) { Array($0) }
        }
        func header(_ counts: [UInt32]) -> [UInt8] {
            Array("TZif".utf8) + [version.asciiValue ?? 0] + [UInt8](repeating: 0, count: 15) + counts.flatMap(big)
        }
        var bytes = header([0, 0, 0, 0, 1, 4]) + [0, 0, 0, 0, 0, 0] + Array("UTC\0".utf8)
        bytes += header([0, 0, leapSeconds, UInt32(changes.count), UInt32(offsets.count), 4])
        bytes += changes.flatMap { big($0.at) } + changes.map(\.type)
        bytes += offsets.flatMap { big($0) + [0, 0] } + Array("UTC\0".utf8)
        return bytes + [UInt8](repeating: 0, count: Int(leapSeconds) * 12) + Array("\n\(footer)\n".utf8)
    }

    @Test func `a file is read`() throws {
        let rules = try ZoneRules(
            file: file(offsets: [3600, 7200], changes: [(100, 1), (200, 0), (300, 0), (400, 1)], footer: "<+02>-2"))
        #expect(
            [0, 99, 100, 199, 200, 399, 400, 9_999_999_999].map { rules.offset(at: UnixTime(seconds: $0)) }
                == [3600, 3600, 7200, 7200, 3600, 3600, 7200, 7200])
        let changes = rules.nextChange(after: UnixTime(seconds: 200), through: .latest)
        #expect(changes?.instant == UnixTime(seconds: 400), "a change to the same offset is none")
    }

    @Test func `without changes the footer stands for all time`() throws {
        let rules = try ZoneRules(file: file(offsets: [0], footer: "CET-1"))
        #expect(rules.offset(at: .earliest) == 3600)
    }

    @Test func `files that cannot be used are refused with the reason`() throws {
        func reason(_ bytes: [UInt8]) -> ZoneFileError? {
            do throws(ZoneFileError) {
                _ = try ZoneRules(file: bytes)
                return nil
            } catch {
                return error
            }
        }
        #expect(reason([]) == .notAZoneFile)
        #expect(reason(Array("# tzdb".utf8)) == .notAZoneFile)
        #expect(reason(file(version: "\0")) == .onlyShortTimes)
        #expect(reason(file(leapSeconds: 2)) == .leapSeconds)
        #expect(reason(file(offsets: [])) == .damaged("0 types of local time"))
        #expect(reason(file(offsets: [100_000])) == .damaged("an offset of 100000 s"))
        #expect(reason(file(changes: [(5, 0), (5, 0)])) == .damaged("times are not in ascending order"))
        #expect(reason(file(changes: [(5, 1)])) == .damaged("a change to a type that it does not have"))
        #expect(reason(file().dropLast() + []) == .damaged("its footer is cut off"))
        #expect(reason([UInt8](repeating: 0, count: 1 << 18 + 1)) == .damaged("more than 256 KiB"))
        let footer = reason(file(footer: "CET-1CEST"))
        #expect(footer == .posixRule("the days on which the clocks change are missing"))
        for error in [footer, .leapSeconds, .onlyShortTimes] {
            #expect("\(try #require(error))".contains("time zone"))
        }
    }

    @Test func `each cut of a file is refused`() throws {
        let whole = file(offsets: [3600, 7200], changes: [(100, 1), (200, 0)], footer: "CET-1CEST,M3.5.0,M10.5.0/3")
        #expect(throws: Never.self) { try ZoneRules(file: whole) }
        for length in 0..<whole.count {
            #expect(throws: ZoneFileError.self) { try ZoneRules(file: Array(whole[..<length])) }
        }
    }

    @Test func `huge counts are refused without being believed`() throws {
        for field in 0..<6 {
            for second in [false, true] {
                var bytes = file(offsets: [3600, 7200], changes: [(100, 1)])
                let place = (second ? 44 + 10 : 0) + 20 + 4 * field
                bytes.replaceSubrange(place..<place + 4, with: [255, 255, 255, 255])
                #expect(throws: ZoneFileError.self) { try ZoneRules(file: bytes) }
            }
        }
    }

    /// Reading and lookup neither trap nor run endlessly, whatever the bytes are.
    @Test func `damaged files do no harm`() throws {
        var dice = Dice(1)
        let real = try #require(FileManager.default.contents(atPath: ZoneName.folder + "/Europe/Dublin"))
        let models = [
            [UInt8](real),
            file(offsets: [3600, 7200], changes: [(100, 1), (200, 0)], footer: "CET-1CEST,M3.5.0/-167,J365/167"),
        ]
        var read = 0
        for round in 0..<3000 {
            var bytes = models[round % 2]
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                let place = Int.random(in: 0..<bytes.count, using: &dice)
                switch Int.random(in: 0..<4, using: &dice) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(.random(in: 0...255, using: &dice), at: place)
                default: bytes[place] = .random(in: 0...255, using: &dice)
                }
            }
            guard let rules = attempt(bytes) else { continue }
            read += 1
            ask(rules, &dice)
        }
        #expect(read > 200)
        for _ in 0..<500 {
            let noise = (0..<Int.random(in: 0...200, using: &dice)).map { _ in UInt8.random(in: 0...255, using: &dice) }
            #expect(attempt(Array("TZif2".utf8) + noise) == nil)
        }
    }

    private func attempt(_ bytes: [UInt8]) -> ZoneRules? {
        do { return try ZoneRules(file: bytes) } catch { return nil }
    }

    private func ask(_ rules: ZoneRules, _ dice: inout Dice) {
        for _ in 0..<5 {
            let instant = UnixTime(seconds: .random(in: -1 << 40...1 << 40, using: &dice))
            let local = rules.localTime(at: instant)
            #expect(rules.period(containing: instant).contains(instant))
            #expect(rules.firstInstant(reaching: local) <= instant)
            _ = rules.nextChange(after: instant, through: instant.advanced(by: 1 << 30))
            _ = rules.clockChange(on: local.date)
        }
        for instant in [UnixTime.earliest, .latest] {
            #expect(rules.period(containing: instant).contains(instant))
            _ = rules.firstInstant(reaching: rules.localTime(at: instant))
        }
    }
}

import OpsCore
import Testing

@testable import OpsRecord

@Suite struct RecordEncodingTests {
    private let now = Moment(monotonic: .zero + .nanoseconds(5), wall: .zero + .seconds(1_700_000_000))

    private func copy<Value: Codable>(_ value: Value) throws -> Value {
        try RecordDecoder().decode(Value.self, from: try RecordEncoder().encode(value))
    }

    @Test func `instants and spans are written as their numbers`() throws {
        for number in [.min, -1, 0, 7, 1_700_000_000_000_000_000, .max] as [Int64] {
            let bytes = try RecordEncoder().encode(number)
            #expect(try RecordEncoder().encode(TimeSpan(nanoseconds: number)) == bytes)
            #expect(try RecordEncoder().encode(WallInstant(nanoseconds: number)) == bytes)
            #expect(try RecordEncoder().encode(MonotonicInstant(nanoseconds: number)) == bytes)
            #expect(try copy(MonotonicInstant(nanoseconds: number)).nanoseconds == number)
        }
        #expect(throws: (any Error).self) {
            _ = try RecordDecoder().decode(TimeSpan.self, from: try RecordEncoder().encode("1s"))
        }
    }

    @Test func `a time that was exceeded keeps its name`() throws {
        let cause = Cause.ranLongerThan(.nanoseconds(7))
        let written = ["ranLongerThan": ["nanoseconds": 7 as Int64]]
        let encoder = RecordEncoder(numbersKeys: false)
        #expect(try encoder.encode(cause) == (try encoder.encode(written)))
        #expect(try copy(cause) == cause)
    }

    @Test func `every kind of event is read as it was written`() throws {
        var event: Event? = SampleEvents.next(after: nil)
        var count = 0
        while let written = event {
            let read = try copy(TurnInput(written, at: now))
            #expect("\(read.event)" == "\(written)")
            #expect(read.at == now)
            event = SampleEvents.next(after: written)
            count += 1
        }
        #expect(count == 36)
    }

    @Test(arguments: [Int64.min, -1_000_000, -129, -2, -1, 0, 1, 238, 239, 255, 1 << 40, .max])
    func `a number is read as it was written`(number: Int64) throws {
        #expect(try copy([number]) == [number])
        let unsigned = UInt64(bitPattern: number)
        #expect(try copy([unsigned]) == [unsigned])
    }

    @Test func `a number that does not fit is refused`() throws {
        let bytes = try RecordEncoder().encode([70_000])
        #expect(throws: RecordDecoder.Malformed.self) { try RecordDecoder().decode([Int16].self, from: bytes) }
    }

    @Test func `values with optional and repeated keys are read as they were written`() throws {
        var policy = Policy()
        policy.retry = RetryPolicy(limit: 3, exitCodes: [1, 70_000])
        policy.conditions = [ConditionPolicy(otherwise: .wait), ConditionPolicy()]
        #expect(try copy([Policy(), policy, policy]) == [Policy(), policy, policy])
        let entries: [AttemptID: AttemptState] = [
            AttemptID(OperationID(1), 1): .refused(cause: "no"), AttemptID(OperationID(2), 7): .accepted(job: "é"),
        ]
        #expect(try copy(Inventory(runner: "r", boot: "b", entries: entries)).entries == entries)
        #expect(try copy([nil, OperationID(4), nil] as [OperationID?]) == [nil, OperationID(4), nil])
    }

    @Test func `the text of a command is not written`() throws {
        let edit = Event.edit([OperationID(1)], Edit(priority: 3, command: "[\"secret-word\"]"))
        let bytes = try RecordEncoder().encode(edit)
        #expect(!String(decoding: bytes, as: UTF8.self).contains("secret"))
        guard case .edit(let groups) = try copy(edit) else { return #expect(Bool(false), "it is another event") }
        #expect("\(groups)".contains("command: Optional(\"\")"))
    }

    @Test func `bytes that no encoder has made are refused`() throws {
        let bytes = try RecordEncoder().encode(
            TurnInput(.cancel([OperationID(1)], by: "me", reason: nil, force: true), at: now))
        for count in 0..<bytes.count {
            #expect(throws: (any Error).self) {
                try RecordDecoder().decode(TurnInput.self, from: Array(bytes[..<count]))
            }
        }
        for position in bytes.indices {
            var damaged = bytes
            damaged[position] ^= 0xFF
            _ = try? RecordDecoder().decode(TurnInput.self, from: damaged)
        }
    }
}

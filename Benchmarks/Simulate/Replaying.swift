internal import Glibc
internal import OpsRecord
internal import OpsSystem

extension Simulate {
    /// Repeats the turns of each file of a record, and ends the program: status 0 if every answer is the recorded one and
    /// every invariant holds, 1 at the first difference, 2 for a file that cannot be read.
    static func replay(_ files: [String]) -> Never {
        if files.isEmpty { refuse("simulate --replay FILE...: no file is named") }
        for file in files {
            do {
                try replay(file)
            } catch {
                refuse("\(file): \(error)")
            }
        }
        exit(0)
    }

    private static func replay(_ file: String) throws {
        var reader = try RecordReader(try Files.read(file, limit: 1 << 32))
        var replay = Replay(reader.beginning)
        var (first, last, count) = (Int64(0), Int64(0), 0)
        while let turn = try reader.next() {
            if count == 0 { first = turn.number }
            (last, count) = (turn.number, count + 1)
            guard let difference = try replay.repeat(turn) else { continue }
            print("\(file): \(difference)")
            exit(1)
        }
        let torn =
            reader.tornBytes == 0 ? "" : "; \(reader.tornBytes) bytes of an incomplete turn at the end are cut off"
        print("\(file): \(count) turns, \(first) to \(last), the same\(torn)")
    }

    private static func refuse(_ message: String) -> Never {
        Program.writeError(message)
        exit(2)
    }
}

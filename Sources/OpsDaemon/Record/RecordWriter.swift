internal import OpsRecord
internal import OpsSystem

/// Files of the record of turns, in a directory of their own. Only the thread beside the loop uses them.
final class RecordWriter {
    private let directory: String
    private var file: Descriptor?
    private var encoding = RecordFile()
    /// Number of the newest file; nil before the directory has been read.
    private var newest: Int?
    /// Length of the present file up to its last whole frame.
    private var length = 0

    init(directory: String) { self.directory = directory }

    /// Writes the items, and returns the length of the present file. If writing fails, the file is cut off after its
    /// last whole turn.
    func write(_ items: [TurnRecorder.Item]) throws -> Int {
        var bytes: [UInt8] = []
        for item in items {
            switch item {
            case .beginning(let beginning):
                try append(bytes)
                bytes = []
                try open()
                bytes = RecordFile.header(release: Release.current.text)
                bytes += try encoding.frame(beginning)
            case .turn(let turn, let number): bytes += try encoding.frame(turn, number: number)
            }
        }
        try append(bytes)
        return length
    }

    private func append(_ bytes: [UInt8]) throws(SystemError) {
        guard !bytes.isEmpty else { return }
        do throws(SystemError) {
            _ = try file?.writeAll(bytes)
            length += bytes.count
        } catch {
            // If this fails too, the reader ignores the incomplete end.
            try? file?.truncate(to: Int64(length))
            file = nil
            throw error
        }
    }

    /// Begins a new file. The oldest ones are removed before that.
    private func open() throws(SystemError) {
        file = nil
        encoding = RecordFile()
        length = 0
        try Files.makePrivateDirectory(directory)
        let numbers = try Files.list(directory).compactMap(Self.number(of:)).sorted()
        for number in numbers.dropLast(RecordLimits.fullFiles) { try Files.remove(path(number)) }
        let number = max(newest ?? 0, numbers.last ?? 0) + 1
        newest = number
        file = try Files.create(path(number), mode: 0o600)
    }

    private func path(_ number: Int) -> String {
        let digits = "\(number)"
        return "\(directory)/\(String(repeating: "0", count: max(0, 8 - digits.count)))\(digits).turns"
    }

    private static func number(of name: String) -> Int? {
        guard name.hasSuffix(".turns") else { return nil }
        return Int(name.dropLast(".turns".count))
    }
}

internal import OpsWire

/// A list has rows of all users. However long their texts are, it remains small enough to be read and sent. Show returns
/// everything.
extension OperationRow {
    /// Bytes of one command in a list. A word counts as 4 bytes more, because a command may have very many short words.
    private static let commandBytes = 16 << 10
    private static let bytesBetweenWords = 4

    /// Reads the beginning of a stored command, and not the rest, which would take long if it has very many words.
    static func beginning(ofCommand text: String) throws(JSONError) -> [String] {
        try scan(text.utf8) { (scanner: inout JSONScanner) throws(JSONError) -> [String] in
            var room = Self.commandBytes
            var words: [String] = []
            try scanner.beginArray()
            while try scanner.nextElement() {
                let word = try scanner.string()
                room -= Self.bytesBetweenWords
                guard word.utf8.count <= room else {
                    words.append(String(decoding: word.utf8.prefix(max(0, room)), as: UTF8.self) + "…")
                    break
                }
                room -= word.utf8.count
                words.append(word)
            }
            return words
        }
    }

    /// The row without everything that may be long.
    var brief: OperationRow {
        var row = self
        (row.command, row.dependencies, row.labels) = (nil, [], StringMap())
        (row.cause, row.note, row.statusText, row.result, row.directory) = (nil, nil, nil, nil, nil)
        return row
    }

    /// Approximate size of the row, in rows of usual size.
    var weight: Int { 1 + dependencies.count / 16 + bytesOfCommand / 1024 }

    /// Approximate size of the command in memory.
    var bytesOfCommand: Int { (command ?? []).reduce(0) { $0 + $1.utf8.count + MemoryLayout<String>.stride } }
}

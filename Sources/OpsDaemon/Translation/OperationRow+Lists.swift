internal import OpsWire

/// A list has rows of all users. However long their texts are, it remains small enough to be read and sent. Show returns
/// everything.
extension OperationRow {
    /// Bytes of the arguments of one command in a list.
    private static let commandBytes = 16 << 10

    /// The row with at most the beginning of its command.
    var listed: OperationRow {
        guard let command, command.reduce(0, { $0 + $1.utf8.count }) > Self.commandBytes else { return self }
        var row = self
        row.command = Self.beginning(of: command)
        return row
    }

    private static func beginning(of command: [String]) -> [String] {
        var room = commandBytes
        var arguments: [String] = []
        for argument in command {
            guard argument.utf8.count <= room else {
                arguments.append(String(decoding: argument.utf8.prefix(room), as: UTF8.self) + "…")
                break
            }
            room -= argument.utf8.count
            arguments.append(argument)
        }
        return arguments
    }

    /// The row without everything that may be long.
    var brief: OperationRow {
        var row = self
        (row.command, row.dependencies, row.labels) = (nil, [], StringMap())
        (row.cause, row.note, row.statusText, row.result, row.directory) = (nil, nil, nil, nil, nil)
        return row
    }

    /// Approximate size of the row, in rows of usual size.
    var weight: Int { 1 + dependencies.count / 16 + (command ?? []).reduce(0) { $0 + $1.utf8.count } / 1024 }
}

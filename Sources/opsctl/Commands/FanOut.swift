internal import OpsClient
internal import OpsWire

/// Many operations from one command: one for each line of a file, or for each index of a range.
struct FanOut {
    private let session: Session
    private let values: [Value]
    private let isIndexed: Bool
    private let hasColumns: Bool

    private struct Value {
        let text: String
        var columns: [String] = []
    }

    /// Returns nil if the command line has neither `--each` nor `--array`.
    init?(_ session: Session) throws(Failure) {
        self.session = session
        let paths = session.arguments.texts(.each)
        let delimiter = session.arguments.text(.delimiter)
        isIndexed = paths.isEmpty
        hasColumns = paths.count > 1 || delimiter != nil
        if !paths.isEmpty {
            let inputs = try paths.map { (path) throws(Failure) in try Self.values(of: path, delimiter, session) }
            values = try Self.product(of: inputs, session)
        } else if let range = session.arguments.text(.array) {
            values = try Self.indices(range, session).map { Value(text: "\($0)") }
        } else {
            return nil
        }
    }

    /// Returns the lines of a file, split into columns.
    private static func values(
        of path: String, _ delimiter: String?, _ session: Session
    ) throws(Failure) -> [Value] {
        let lines = try lines(of: path, session)
        if lines.isEmpty { throw session.refuse("--each \(path): it contains no lines", "nothing was submitted") }
        guard let delimiter else { return lines.map { Value(text: $0, columns: [$0]) } }
        guard delimiter == "\\t" || delimiter.count == 1, let mark = delimiter == "\\t" ? "\t" : delimiter.first else {
            throw session.refuse("--delimiter takes one character, not \"\(delimiter)\"", "write \\t for a tab")
        }
        return lines.map { line in
            Value(text: line, columns: line.split(separator: mark, omittingEmptySubsequences: false).map(String.init))
        }
    }

    /// Returns every combination of one line from each input. The last input changes first.
    private static func product(of inputs: [[Value]], _ session: Session) throws(Failure) -> [Value] {
        if inputs.count == 1 { return inputs[0] }
        var count = 1
        for input in inputs {
            count = count.multipliedReportingOverflow(by: input.count).partialValue
            guard (1...Limits.operationsPerSubmission).contains(count) else {
                throw session.refuse(
                    "--each gives more than \(Limits.operationsPerSubmission) combinations", "nothing was submitted")
            }
        }
        var values = [Value(text: "")]
        for (index, input) in inputs.enumerated() {
            values = values.flatMap { value in
                input.map { next in
                    Value(
                        text: index == 0 ? next.text : value.text + " " + next.text,
                        columns: value.columns + next.columns)
                }
            }
        }
        return values
    }

    /// Returns the lines of a file that are not empty.
    private static func lines(of path: String, _ session: Session) throws(Failure) -> [String] {
        var lines: [String] = []
        let bytes = try InputFile.read(path, session.arguments.path)
        for (index, line) in bytes.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
            guard let text = String(validating: line.last == 0x0d ? line.dropLast() : line, as: UTF8.self) else {
                throw session.refuse(
                    "--each \(path): line \(index + 1) is not UTF-8, and JSON can contain only UTF-8",
                    "nothing was submitted")
            }
            if !text.isEmpty { lines.append(text) }
        }
        return lines
    }

    /// Parses `1-100`, `0-10:2` or `7`.
    private static func indices(_ range: String, _ session: Session) throws(Failure) -> [Int] {
        let parts = range.split(separator: ":", omittingEmptySubsequences: false)
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        let step = parts.count == 2 ? Int(parts[1]) : 1
        if ends.count == 2, let first = ends[0], let last = ends[1], last < first {
            throw session.refuse("--array \(range): the end (\(last)) is before the start (\(first))", nil)
        }
        guard parts.count <= 2, (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
            let step, step > 0
        else { throw session.refuse("--array takes A-B or A-B:STEP, not \"\(range)\"", "write --array 1-100") }
        guard (last - first) / step < Limits.operationsPerSubmission else {
            throw session.refuse("--array \(range) has more than \(Limits.operationsPerSubmission) indices", "split it")
        }
        return Array(stride(from: first, through: last, by: step))
    }

    func submission() throws(Failure) -> Submission {
        var keys = OperationKeys(arguments: session.arguments)
        let command = try SubmitVerb.command(session)
        // Keys with equal values in all operations are written once.
        let isShared = !session.arguments.mentions(except: [.operationName, .shell]) {
            Placeholders.areIn($0, hasColumns: hasColumns)
        }
        // The parser leaves these values to be checked here.
        let unchecked = session.arguments.options { $0.utf8.contains(UInt8(ascii: "{")) }
        if isShared {
            try session.arguments.check(unchecked)
            try keys.resolve(session)
        }
        var defaults = JSONWriter()
        defaults.beginObject()
        if isShared { try keys.write(to: &defaults) }
        defaults.endObject()
        let environment = isShared ? try keys.environment() : []

        var text = JSONWriter()
        var ranges: [Range<Int>] = []
        ranges.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            let start = text.bytes.count
            text.beginObject()
            let columns = hasColumns ? value.columns : []
            let placeholders = Placeholders(value: value.text, columns: columns, number: index + 1)
            write(command, placeholders, to: &text)
            if isShared {
                write(environment, value.text, to: &text)
            } else {
                var own = OperationKeys(
                    arguments: session.arguments.changed { placeholders.fill($0) }, ids: keys.ids)
                keys.ids = [:]
                try own.arguments.check(unchecked)
                try own.resolve(session)
                keys.ids = own.ids
                try own.write(to: &text)
                write(try own.environment(), value.text, to: &text)
            }
            text.endObject()
            ranges.append(start..<text.bytes.count)
            text.terminate(with: 0x0a)
        }
        var submission = Submission(ranges, in: text.bytes)
        submission.terms.defaults = RawJSON(defaults.bytes)
        return submission
    }

    private func write(_ command: SubmitVerb.Command, _ placeholders: Placeholders, to object: inout JSONWriter) {
        if let name = session.arguments.text(.operationName) {
            object.member(
                "name",
                name.utf8.contains(UInt8(ascii: "{"))
                    ? placeholders.fillName(name)
                    : "\(name)-\(isIndexed ? placeholders.value : "\(placeholders.number)")")
        }
        if let shell = command.shell {
            object.member("shell", placeholders.fillShell(shell))
        } else {
            object.member("command", command.words.map { placeholders.fill($0) })
        }
    }

    private func write(_ environment: [Pair], _ value: String, to object: inout JSONWriter) {
        let own = isIndexed ? [Pair("OPS_INDEX=\(value)")].compactMap { $0 } : []
        if !environment.isEmpty || !own.isEmpty { object.member("environment", environment + own) }
    }
}

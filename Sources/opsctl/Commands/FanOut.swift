internal import OpsClient
internal import OpsWire

/// One command made into many operations: for each line of a file, or for each index of a range.
struct FanOut {
    private let session: Session
    private let values: [String]
    private let isIndexed: Bool

    /// Nil where the command line asks for no such thing.
    init?(_ session: Session) throws(Failure) {
        self.session = session
        if let path = session.arguments.text(.each) {
            values = try Self.lines(of: path, session)
            isIndexed = false
            if values.isEmpty {
                throw session.refuse("--each \(path): there is no line in it", "nothing was submitted")
            }
        } else if let range = session.arguments.text(.array) {
            values = try Self.indices(range, session).map(String.init)
            isIndexed = true
        } else {
            return nil
        }
    }

    /// Returns the lines that are not empty.
    private static func lines(of path: String, _ session: Session) throws(Failure) -> [String] {
        var lines: [String] = []
        let bytes = try InputFile.read(path, session.arguments.path)
        for (place, line) in bytes.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
            guard let text = String(validating: line.last == 0x0d ? line.dropLast() : line, as: UTF8.self) else {
                throw session.refuse(
                    "--each \(path): line \(place + 1) is not UTF-8, and JSON carries nothing else",
                    "nothing was submitted")
            }
            if !text.isEmpty { lines.append(text) }
        }
        return lines
    }

    /// `1-100`, `0-10:2`, `7`.
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
        try keys.resolve(session)
        let command = try SubmitVerb.command(session)
        // Keys with equal values in all operations are written once.
        let isShared = !Placeholders.all.contains {
            session.arguments.mentions($0, except: [.operationName, .shell])
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
            let placeholders = Placeholders(value: value, number: index + 1)
            write(command, placeholders, to: &text)
            if isShared {
                write(environment, value, to: &text)
            } else {
                let own = OperationKeys(arguments: keys.arguments.changed { placeholders.fill($0) }, ids: keys.ids)
                try own.write(to: &text)
                write(try own.environment(), value, to: &text)
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
            object.member("shell", placeholders.fill(shell))
        } else {
            object.member("command", command.words.map { placeholders.fill($0) })
        }
    }

    private func write(_ environment: [Pair], _ value: String, to object: inout JSONWriter) {
        let own = isIndexed ? [Pair("OPS_INDEX=\(value)")].compactMap { $0 } : []
        if !environment.isEmpty || !own.isEmpty { object.member("environment", environment + own) }
    }
}

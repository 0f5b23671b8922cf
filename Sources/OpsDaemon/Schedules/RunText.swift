internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The JSON text of a schedule's graph, filled in for one run.
struct RunText {
    /// A text that replaces `${NAME}`.
    private struct Placeholder {
        /// `${NAME}`
        let mark: [UInt8]
        let value: [UInt8]
        /// Replacement in a text for the shell.
        let shellValue: [UInt8]
    }

    private var placeholders: [Placeholder] = []
    /// True if a placeholder has another value in a text for the shell.
    private var distinguishesShell = false

    /// - Parameter values: Texts that replace `${NAME}`.
    init(_ values: KeyValuePairs<String, String>) {
        for (name, value) in values {
            let value = Self.escaped(value)
            placeholders.append(Placeholder(mark: Self.mark(name), value: value, shellValue: value))
        }
    }

    /// Adds a placeholder whose value anyone may have written, such as the name of a file. A text for the shell gets a
    /// reference to the variable that contains the value, because the shell would execute parts of the value itself.
    mutating func add(_ name: String, _ value: String, in variable: String) {
        placeholders.append(
            Placeholder(mark: Self.mark(name), value: Self.escaped(value), shellValue: Self.mark(variable)))
        distinguishesShell = true
    }

    private static func mark(_ name: String) -> [UInt8] { Array("${\(name)}".utf8) }

    /// Returns a text as it is inside of a JSON string.
    private static func escaped(_ text: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.string(text)
        return Array(writer.bytes.dropFirst().dropLast())
    }

    /// Returns the JSON of operations, or of their defaults, with its placeholders replaced; `$${NAME}` becomes
    /// `${NAME}`. In JSON, `$` occurs only in strings. A text may have thousands of placeholders: this throws before
    /// the filled one exceeds its limit.
    func fill(_ text: [UInt8]) throws -> [UInt8] {
        guard text.contains(UInt8(ascii: "$")) else { return text }
        var shells = try distinguishesShell ? OperationKey.shell.values(in: text)[...] : []
        var filled: [UInt8] = []
        filled.reserveCapacity(text.count)
        var rest = text[...]
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            filled += rest[..<dollar]
            rest = rest[dollar...]
            if let found = placeholders.first(where: { rest.starts(with: $0.mark) }) {
                shells = shells.drop { $0.upperBound <= dollar }
                let value = shells.first?.contains(dollar) == true ? found.shellValue : found.value
                guard filled.count + value.count + rest.count <= ScheduleLimits.filledBytes else {
                    throw ControlError.tooLarge(
                        what: "the size of the run's graph in bytes", limit: ScheduleLimits.filledBytes)
                }
                filled += value
                rest = rest.dropFirst(found.mark.count)
            } else {
                let isLiteral = placeholders.contains { rest.dropFirst().starts(with: $0.mark) }
                filled += isLiteral ? "${".utf8 : "$".utf8
                rest = rest.dropFirst(isLiteral ? 3 : 1)
            }
        }
        return filled + rest
    }

    /// Returns an array with one group that contains the operations of another array. `name`: left out if no operation
    /// may have it. `queue`: nil for the default.
    static func group(_ name: String, queue: String?, around operations: [UInt8]) -> [UInt8] {
        var writer = JSONWriter(capacity: operations.count + 64)
        writer.beginArray()
        writer.beginObject()
        if NameSyntax.isName(name.utf8) {
            writer.key("name")
            writer.string(name)
        }
        if let queue {
            writer.key("queue")
            writer.string(queue)
        }
        writer.key("operations")
        writer.raw(operations)
        writer.endObject()
        writer.endArray()
        return writer.bytes
    }
}

extension SubmissionTexts {
    /// Adds the exclusive use of a category to the first operation.
    mutating func hold(_ category: String) {
        guard let first = submission.operations.first else { return }
        let own = first.categories.map { submission.categorySets[Int($0)] } ?? []
        submission.operations[0].categories = Int32(submission.categorySets.count)
        submission.categorySets.append(
            CategoryUse.strictest(own + [CategoryUse(name: category, mode: .exclusive)]))
    }
}

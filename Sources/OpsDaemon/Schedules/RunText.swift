internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The JSON text of a schedule's graph, filled in for one run.
struct RunText {
    private let values: [(mark: [UInt8], value: [UInt8])]

    /// - Parameter values: Texts that replace `${NAME}`.
    init(_ values: KeyValuePairs<String, String>) {
        self.values = values.map { name, value in
            var text = JSONWriter()
            text.string(value)
            return (Array("${\(name)}".utf8), Array(text.bytes.dropFirst().dropLast()))
        }
    }

    /// Returns the text with its placeholders replaced. In JSON, `$` occurs only in strings, so the text need not be
    /// parsed. A text may have thousands of placeholders: this throws before the filled one exceeds its limit.
    func fill(_ text: [UInt8]) throws(ControlError) -> [UInt8] {
        guard text.contains(UInt8(ascii: "$")) else { return text }
        var filled: [UInt8] = []
        filled.reserveCapacity(text.count)
        var rest = text[...]
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            filled += rest[..<dollar]
            rest = rest[dollar...]
            if let found = values.first(where: { rest.starts(with: $0.mark) }) {
                guard filled.count + found.value.count + rest.count <= ScheduleLimits.filledBytes else {
                    throw .tooLarge(what: "the graph of the run", limit: ScheduleLimits.filledBytes)
                }
                filled += found.value
                rest = rest.dropFirst(found.mark.count)
            } else {
                filled.append(UInt8(ascii: "$"))
                rest = rest.dropFirst()
            }
        }
        return filled + rest
    }

    /// Returns an array with one group that contains the operations of another array.
    static func group(_ name: String, around operations: [UInt8]) -> [UInt8] {
        var writer = JSONWriter(capacity: operations.count + 64)
        writer.beginArray()
        writer.beginObject()
        writer.key("name")
        writer.string(name)
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

extension OperationKey {
    /// Returns the ranges of the key's values in the JSON of a graph: in its operations or its defaults, in the members
    /// of groups, and in operations that conditions provide.
    public func values(in graph: [UInt8]) throws(JSONError) -> [Range<Int>] {
        var found: [Range<Int>] = []
        try scan(graph) { (scanner) throws(JSONError) in try addValues(from: &scanner, to: &found) }
        return found
    }

    private func addValues(from scanner: inout JSONScanner, to found: inout [Range<Int>]) throws(JSONError) {
        switch try scanner.peek() {
        case .array:
            try scanner.beginArray()
            while try scanner.nextElement() { try addValues(from: &scanner, to: &found) }
        case .object:
            try scanner.beginObject()
            while let member = try scanner.nextMember() {
                switch scanner.string(member) {
                case text: found.append(try scanner.skip())
                case "operations", "conditions", "provide": try addValues(from: &scanner, to: &found)
                default: try scanner.skip()
                }
            }
        case .string, .number, .bool, .null: try scanner.skip()
        }
    }
}

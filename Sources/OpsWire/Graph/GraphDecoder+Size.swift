/// The memory that a submission takes while it is read, counted without walking through it.
extension GraphDecoder {
    /// Bytes of the parts that are not read yet, and of what was made of the others.
    public var heldBytes: Int { waitingBytes + input.heldBytes + 4 * operationOfName.count + cache.heldBytes }
}

extension GraphInput {
    fileprivate var heldBytes: Int {
        let tables = names.heldBytes + queues.heldBytes + commands.heldBytes + details.heldBytes + labelSets.heldBytes
        return tables + operations.count * MemoryLayout<Operation>.stride + edges.count * MemoryLayout<Edge>.stride
            + keys.count * (MemoryLayout<(Int32, String)>.stride + Limits.keyBytes)
    }
}

extension DecoderCache {
    /// Each policy and each set of categories lies in an array and in a dictionary.
    fileprivate var heldBytes: Int {
        policies.count * (3 * MemoryLayout<Policy>.stride + Self.blockSize)
            + categories.count * (2 * MemoryLayout<[CategoryUse]>.stride + Self.blockSize)
            + categoryUses * MemoryLayout<CategoryUse>.stride
    }

    /// A small array, with what the allocator needs for it.
    private static let blockSize = 64
}

extension TextTable {
    var heldBytes: Int { bytes.count + 4 * (ends.count + slots.count) }
}

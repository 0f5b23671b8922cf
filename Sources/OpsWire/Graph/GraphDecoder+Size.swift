/// Estimates the memory of a submission while it is read, without walking through it.
extension GraphDecoder {
    /// Bytes of the unread parts, and of the results of the others.
    public var heldBytes: Int {
        waitingBytes + input.heldBytes + 4 * operationOfName.count + cache.heldBytes + bytesOfDefaultEdges
    }

    /// Bytes of the dependencies that `finish` adds, and of what it needs for that.
    private var bytesOfDefaultEdges: Int {
        let edges = min(withDefaultEdges.count * defaults.after.count, Limits.edgesPerSubmission)
        return edges * MemoryLayout<GraphInput.Edge>.stride + 4 * withDefaultEdges.count + 32 * providers.count
    }
}

extension GraphInput {
    fileprivate var heldBytes: Int {
        let tables = names.heldBytes + queues.heldBytes + commands.heldBytes + details.heldBytes + labelSets.heldBytes
        return tables + operations.count * MemoryLayout<Operation>.stride + edges.count * MemoryLayout<Edge>.stride
            + keys.count * (MemoryLayout<(Int32, String)>.stride + Limits.keyBytes)
    }
}

extension DecoderCache {
    /// Each policy and each set of categories is in an array and in a dictionary.
    fileprivate var heldBytes: Int {
        policies.count * (3 * MemoryLayout<Policy>.stride + Self.blockSize)
            + categories.count * (2 * MemoryLayout<[CategoryUse]>.stride + Self.blockSize)
            + categoryUses * MemoryLayout<CategoryUse>.stride
    }

    /// Size of a small array, with the overhead of the allocator.
    private static let blockSize = 64
}

extension TextTable {
    var heldBytes: Int { bytes.count + 4 * (ends.count + slots.count) }
}

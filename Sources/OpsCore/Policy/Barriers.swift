/// The unfinished barriers of one queue that order everybody's operations, or those of one partition, in the order of
/// their ids.
struct Barriers {
    struct Barrier {
        var place: OperationIndex
        var id: Int64
        /// Unfinished operations that it orders between the barrier before this one and it, without the groups that
        /// hold it.
        var before: Int32 = 0
        /// Ids of what it keeps pending; those that have finished since are passed over.
        var behind: [Int64] = []
    }
    var list: [Barrier] = []
    /// Unfinished operations after the last barrier.
    var after: Int32 = 0

    /// Index of the first barrier at or after `id`.
    func next(from id: Int64) -> Int {
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// The unfinished barriers of one queue, in the order of their ids.
struct Barriers {
    struct Barrier {
        var place: Int32
        var id: Int64
        /// Unfinished operations between the barrier before this one and it, without those that hold it.
        var before: Int32 = 0
        /// What was kept pending by it, as far as it has not left since.
        var behind: [Int64] = []
    }
    var list: [Barrier] = []

    /// Index of the nearest barrier before `id`, or -1.
    func nearest(before id: Int64) -> Int { next(from: id) - 1 }

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

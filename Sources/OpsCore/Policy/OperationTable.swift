/// All unfinished operations in one flat array, found by place; places are used again.
struct OperationTable {
    private(set) var rows: [OperationRow] = []
    private var free: [Int32] = []
    private var ids = IDTable()

    /// How many operations there are.
    var count: Int { rows.count - free.count }

    /// The place of an operation, or -1 when the core does not hold it.
    func place(of id: OperationID) -> Int32 { ids.place(of: id.rawValue) }

    subscript(place: Int32) -> OperationRow {
        _read { yield rows[Int(place)] }
        _modify { yield &rows[Int(place)] }
    }

    /// Grows by a quarter at a time: doubling would leave half of a large table unused.
    mutating func reserve(_ more: Int) {
        let needed = rows.count + max(0, more - free.count)
        if needed > rows.capacity { rows.reserveCapacity(max(needed, rows.count + rows.count / 4)) }
    }

    mutating func insert(_ row: OperationRow) -> Int32 {
        let place: Int32
        if let reused = free.popLast() {
            rows[Int(reused)] = row
            place = reused
        } else {
            if rows.count == rows.capacity { rows.reserveCapacity(max(64, rows.count + rows.count / 4)) }
            place = Int32(rows.count)
            rows.append(row)
        }
        ids.insert(row.id, at: place)
        return place
    }

    mutating func remove(_ place: Int32) {
        ids.remove(rows[Int(place)].id)
        rows[Int(place)].id = 0
        rows[Int(place)].place = -1
        free.append(place)
        if free.count == rows.count {
            rows = []
            free = []
        }
    }

    /// Places in use, in no order that means anything.
    var places: some Sequence<Int32> {
        rows.indices.lazy.filter { rows[$0].id != 0 }.map { Int32($0) }
    }

    /// Places in use in the order of their ids.
    var placesByID: [Int32] { places.sorted { rows[Int($0)].id < rows[Int($1)].id } }
}

/// Where each operation stands in the table of operations: pages of ids, each freed once nothing in it is left.
struct IDTable {
    private static let pageBits: Int64 = 12
    private static let pageSize = 1 << 12

    private var pages: [[Int32]] = []
    private var occupied: [Int32] = []

    /// The place of an operation, or -1.
    func place(of id: Int64) -> Int32 {
        guard id > 0 else { return -1 }
        let page = Int(id >> Self.pageBits)
        guard page < pages.count, !pages[page].isEmpty else { return -1 }
        return pages[page][Int(id) & (Self.pageSize - 1)]
    }

    mutating func insert(_ id: Int64, at place: Int32) {
        let page = Int(id >> Self.pageBits)
        while page >= pages.count {
            pages.append([])
            occupied.append(0)
        }
        if pages[page].isEmpty {
            pages[page] = [Int32](repeating: -1, count: Self.pageSize)
        }
        pages[page][Int(id) & (Self.pageSize - 1)] = place
        occupied[page] += 1
    }

    mutating func remove(_ id: Int64) {
        let page = Int(id >> Self.pageBits)
        pages[page][Int(id) & (Self.pageSize - 1)] = -1
        occupied[page] -= 1
        if occupied[page] == 0 { pages[page] = [] }
    }
}

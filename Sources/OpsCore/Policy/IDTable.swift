/// The row of each operation in the table of operations: pages of ids, each freed once it is empty.
struct IDTable: Codable {
    private static let pageBits: Int64 = 12
    private static let pageSize = 1 << 12

    private var pages: [[Packed<OperationIndex>]] = []
    private var occupied: [Int32] = []

    func index(of id: Int64) -> OperationIndex? {
        guard id > 0 else { return nil }
        let page = Int(id >> Self.pageBits)
        guard page < pages.count, !pages[page].isEmpty else { return nil }
        return pages[page][Int(id) & (Self.pageSize - 1)].wrappedValue
    }

    mutating func insert(_ id: Int64, at index: OperationIndex) {
        let page = Int(id >> Self.pageBits)
        while page >= pages.count {
            pages.append([])
            occupied.append(0)
        }
        if pages[page].isEmpty {
            pages[page] = [Packed<OperationIndex>](repeating: Packed(wrappedValue: nil), count: Self.pageSize)
        }
        pages[page][Int(id) & (Self.pageSize - 1)].wrappedValue = index
        occupied[page] += 1
    }

    mutating func remove(_ id: Int64) {
        let page = Int(id >> Self.pageBits)
        pages[page][Int(id) & (Self.pageSize - 1)].wrappedValue = nil
        occupied[page] -= 1
        if occupied[page] == 0 { pages[page] = [] }
    }
}

public import OpsCore

/// Reads a selection in steps. Each step examines a bounded number of operations, however few of them are selected.
/// Between two steps no read transaction is open.
public struct SelectionCursor: Sendable {
    public enum Order: Sendable { case oldestFirst, newestFirst }

    public let selection: Selection
    private let sql: String
    /// True if there are no more selected operations.
    public private(set) var isAtEnd = false
    private let order: Order
    /// Disjoint ranges in the order of ids.
    private let ranges: [ClosedRange<Int64>]
    /// Ids that are still to be examined; nil before the first step.
    private var rest: ClosedRange<Int64>?
    private let start: Int64
    private let indexes: Set<SparseIndex>?

    /// `id`: only operations after it are read.
    public init(_ selection: Selection, order: Order = .oldestFirst, after id: OperationID = OperationID(0)) {
        self.selection = selection
        sql = selection.sql
        self.order = order
        ranges = Self.apart(selection.ids ?? [1...Int64.max])
        start = id.rawValue
        indexes = SparseIndex.all(for: selection)
    }

    /// Maximum number of ids that one step examines, and of ranges.
    private static let idsInAStep: Int64 = 2000
    private static let rangesInAStep = 500

    /// Returns the next selected operations in order, at most `limit`. There may be more even if it returns none.
    public mutating func next(_ history: History, limit: Int) throws(StoreError) -> [OperationID] {
        guard !isAtEnd, limit > 0 else { return [] }
        if self.rest == nil { self.rest = try extent(history) }
        guard let rest = try skipOthers(in: self.rest, history) else {
            isAtEnd = true
            return []
        }
        let window = window(of: rest)
        guard let first = window.first?.lowerBound, let last = window.last?.upperBound else {
            isAtEnd = true
            return []
        }
        let rows = try history.statement(sql)
        selection.bind(to: rows, ranges: window)
        var found: [Int64] = []
        while try rows.step() { found.append(rows.int(0)) }
        switch order {
        case .oldestFirst:
            found.sort()
            if found.count > limit { found.removeLast(found.count - limit) }
            let seen = found.count == limit ? found[limit - 1] : last
            proceed(to: seen < rest.upperBound ? seen + 1...rest.upperBound : nil)
        case .newestFirst:
            found.sort(by: >)
            if found.count > limit { found.removeLast(found.count - limit) }
            let seen = found.count == limit ? found[limit - 1] : first
            proceed(to: seen > rest.lowerBound ? rest.lowerBound...seen - 1 : nil)
        }
        return found.map { OperationID($0) }
    }

    /// Returns the rest, beginning with the next operation that can be selected.
    private func skipOthers(
        in rest: ClosedRange<Int64>?, _ history: History
    ) throws(StoreError) -> ClosedRange<Int64>? {
        guard let rest, let indexes else { return rest }
        switch order {
        case .oldestFirst:
            let next = try history.next(in: indexes, order, from: rest.lowerBound)
            return next.flatMap { $0 > rest.upperBound ? nil : $0...rest.upperBound }
        case .newestFirst:
            let next = try history.next(in: indexes, order, from: rest.upperBound)
            return next.flatMap { $0 < rest.lowerBound ? nil : rest.lowerBound...$0 }
        }
    }

    private mutating func proceed(to rest: ClosedRange<Int64>?) {
        self.rest = rest
        if rest == nil { isAtEnd = true }
    }

    /// Range of ids that can be selected at all; nil if it is empty.
    private func extent(_ history: History) throws(StoreError) -> ClosedRange<Int64>? {
        guard var extent = try history.extent(of: selection) else { return nil }
        guard let least = ranges.first?.lowerBound, let most = ranges.last?.upperBound else { return nil }
        let lower = max(extent.lowerBound, least, start == .max ? .max : start + 1)
        let upper = min(extent.upperBound, most)
        guard lower <= upper else { return nil }
        extent = lower...upper
        return extent
    }

    /// Returns the ranges that the next step examines, in the order of ids.
    private func window(of rest: ClosedRange<Int64>) -> [ClosedRange<Int64>] {
        var window: [ClosedRange<Int64>] = []
        var room = Self.idsInAStep
        func add(_ range: ClosedRange<Int64>) -> Bool {
            guard range.overlaps(rest) else { return false }
            var part = range.clamped(to: rest)
            // Both ends are within the existing ids, so their distance does not overflow.
            if part.upperBound - part.lowerBound >= room {
                part =
                    order == .oldestFirst
                    ? part.lowerBound...part.lowerBound + room - 1 : part.upperBound - room + 1...part.upperBound
            }
            room -= part.upperBound - part.lowerBound + 1
            window.append(part)
            return room > 0 && window.count < Self.rangesInAStep
        }
        switch order {
        case .oldestFirst:
            let begin = firstRange { $0.upperBound >= rest.lowerBound }
            for range in ranges[begin...] where !add(range) { break }
        case .newestFirst:
            let end = firstRange { $0.lowerBound > rest.upperBound }
            for range in ranges[..<end].reversed() where !add(range) { break }
            window.reverse()
        }
        return window
    }

    /// Returns the index of the first range for which `isBeyond` is true; it is true for all ranges after it.
    private func firstRange(where isBeyond: (ClosedRange<Int64>) -> Bool) -> Int {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if isBeyond(ranges[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Returns the same ids in order and without overlap, so that no row is sent twice.
    public static func apart(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
        var result: [ClosedRange<Int64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.last, range.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }
}

extension History {
    /// Returns the range of ids that contains all selected operations; nil if there are none.
    fileprivate func extent(of selection: Selection) throws(StoreError) -> ClosedRange<Int64>? {
        for (name, value) in selection.labels {
            let row = try statement("SELECT 1 FROM label WHERE name = ?1 AND value = ?2 LIMIT 1")
            row.bind(1, name)
            row.bind(2, value)
            defer { row.reset() }
            guard try row.step() else { return nil }
        }
        let all = try bounds("SELECT (SELECT min(id) FROM operation), (SELECT max(id) FROM operation)", nil)
        guard let all, let graph = selection.graph else { return all }
        let own = try bounds(
            """
            SELECT first, (SELECT max(first + count - 1) FROM submission WHERE first = (
                SELECT max(first) FROM submission WHERE graph = ?1))
            FROM submission WHERE first = (SELECT min(first) FROM submission WHERE graph = ?1)
            """, graph.rawValue)
        return own?.clamped(to: all)
    }

    private func bounds(_ sql: String, _ parameter: Int64?) throws(StoreError) -> ClosedRange<Int64>? {
        let row = try statement(sql)
        if let parameter { row.bind(1, parameter) }
        defer { row.reset() }
        guard try row.step(), let first = row.optionalInt(0), let last = row.optionalInt(1), first <= last else {
            return nil
        }
        return first...last
    }
}

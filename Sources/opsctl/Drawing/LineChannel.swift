/// The lines between two layers: out of the left one, along upright trunks, into the right one.
struct LineChannel {
    /// One trunk, which joins rows on the left with rows on the right.
    private struct Net {
        var sources: [Int]
        var targets: [Int]
        var column = 0

        var top: Int { min(sources.min() ?? 0, targets.min() ?? 0) }
        var bottom: Int { max(sources.max() ?? 0, targets.max() ?? 0) }
        /// One line that goes straight on needs no trunk.
        var isStraight: Bool { top == bottom }
    }

    private var nets: [Net]
    private let columns: Int

    /// Nil where lines would have to lie on each other.
    init?(_ left: [Int], _ right: [Int], _ above: [[Int]], _ rows: [Int]) {
        nets = Self.joined(left, right, above).map { net in
            Net(sources: net.sources.map { rows[$0] }, targets: net.targets.map { rows[$0] })
        }
        guard let columns = Self.place(&nets) else { return nil }
        self.columns = columns
    }

    var width: Int { 3 + max(1, 2 * columns) }

    /// Nodes that lead to the same ones share a net if nothing else leads there; else each has its own.
    private static func joined(
        _ left: [Int], _ right: [Int], _ above: [[Int]]
    ) -> [(sources: [Int], targets: [Int])] {
        var nets: [(sources: [Int], targets: [Int])] = []
        for source in left {
            let targets = right.filter { above[$0].contains(source) }
            guard let first = targets.first else { continue }
            let isShared = targets.allSatisfy { Set(above[$0]) == Set(above[first]) }
            if isShared, let same = nets.firstIndex(where: { $0.targets == targets }) {
                nets[same].sources.append(source)
            } else {
                nets.append(([source], targets))
            }
        }
        return nets
    }

    /// Gives every trunk a column, such that no two lines of different nets lie in one cell; answers how many there are.
    private static func place(_ nets: inout [Net]) -> Int? {
        var waiting = nets.indices.filter { !nets[$0].isStraight }
        var placed: [Int] = []
        while !waiting.isEmpty {
            // A row that one net leaves on and another arrives on: the one that leaves turns off first.
            let next = waiting.first { index in
                !waiting.contains { other in
                    other != index && nets[other].sources.contains { nets[index].targets.contains($0) }
                }
            }
            guard let next else { return nil }
            waiting.removeAll { $0 == next }
            let before = placed.filter { other in nets[other].sources.contains { nets[next].targets.contains($0) } }
            var column = before.map { nets[$0].column + 1 }.max() ?? 0
            while placed.contains(where: {
                nets[$0].column == column && nets[$0].top <= nets[next].bottom && nets[next].top <= nets[$0].bottom
            }) {
                column += 1
            }
            nets[next].column = column
            placed.append(next)
        }
        return (placed.map { nets[$0].column }.max() ?? -1) + 1
    }

    func draw(on canvas: inout LineCanvas, at x: Int) {
        // A space beside the names on either side.
        let (start, end) = (x + 1, x + width - 2)
        for net in nets {
            guard !net.isStraight else {
                canvas.horizontal(net.top, from: start, to: end, under: crossings(net.top, of: net, from: x))
                continue
            }
            let trunk = x + 2 + 2 * net.column
            canvas.vertical(trunk, from: net.top, to: net.bottom)
            for row in net.sources {
                canvas.horizontal(
                    row, from: start, to: trunk, under: crossings(row, of: net, from: x).filter { $0 < trunk })
            }
            for row in net.targets {
                let crossings = crossings(row, of: net, from: x).filter { $0 > trunk }
                canvas.horizontal(row, from: trunk, to: end, under: crossings)
            }
        }
    }

    /// Columns in which other trunks cross a row of `net`; a trunk that leads to the same node joins it instead.
    private func crossings(_ row: Int, of net: Net, from x: Int) -> [Int] {
        nets.filter { other in
            !other.isStraight && other.top <= row && row <= other.bottom
                && (other.sources, other.targets) != (net.sources, net.targets)
                && !(other.targets.contains(row) && net.targets.contains(row))
        }.map { x + 2 + 2 * $0.column }
    }
}

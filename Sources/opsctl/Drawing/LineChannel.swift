/// The lines between two layers: they leave the left layer, run along vertical trunks, and enter the right layer.
struct LineChannel {
    /// One trunk, which joins rows on the left with rows on the right.
    private struct Net {
        var sources: [Int]
        var targets: [Int]
        var column = 0

        var top: Int { min(sources.min() ?? 0, targets.min() ?? 0) }
        var bottom: Int { max(sources.max() ?? 0, targets.max() ?? 0) }
        /// True for a straight line, which needs no trunk.
        var isStraight: Bool { top == bottom }
    }

    private var nets: [Net]
    private let columns: Int

    /// Returns nil if lines would have to overlap.
    init?(_ left: [Int], _ right: [Int], _ above: [[Int]], _ rows: [Int]) {
        nets = Self.joined(left, right, above).map { net in
            Net(sources: net.sources.map { rows[$0] }, targets: net.targets.map { rows[$0] })
        }
        guard let columns = Self.assignColumns(to: &nets) else { return nil }
        self.columns = columns
    }

    var width: Int { 3 + max(1, 2 * columns) }

    /// Nodes that lead to the same nodes share a net if nothing else leads there; every other node has its own.
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

    /// Gives every trunk a column so that lines of different nets share no cell; returns the number of columns.
    private static func assignColumns(to nets: inout [Net]) -> Int? {
        var waiting = nets.indices.filter { !nets[$0].isStraight }
        var placed: [Int] = []
        while !waiting.isEmpty {
            // If one net leaves a row on which another arrives, the one that leaves must turn off first.
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
        // One space beside the names on each side.
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

    /// Returns the columns in which other trunks cross a row of `net`. A trunk that leads to the same node joins the
    /// row instead.
    private func crossings(_ row: Int, of net: Net, from x: Int) -> [Int] {
        nets.filter { other in
            !other.isStraight && other.top <= row && row <= other.bottom
                && (other.sources, other.targets) != (net.sources, net.targets)
                && !(other.targets.contains(row) && net.targets.contains(row))
        }.map { x + 2 + 2 * $0.column }
    }
}

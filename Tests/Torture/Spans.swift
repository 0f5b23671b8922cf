import Foundation

/// Readings of the machine's own clock, in seconds since 1970.
enum Instant {
    static var now: Double { Date().timeIntervalSince1970 }
}

/// A set of instants, stored as ordered spans of time that do not touch.
struct Spans: Sendable {
    typealias Span = ClosedRange<Double>
    private(set) var list: [Span] = []

    /// Makes the union of spans in any order.
    init(_ spans: [Span]) {
        for span in spans.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = list.last, span.lowerBound <= last.upperBound {
                list[list.count - 1] = last.lowerBound...max(last.upperBound, span.upperBound)
            } else {
                list.append(span)
            }
        }
    }

    func union(_ other: Spans) -> Spans { Spans(list + other.list) }

    /// All instants outside the set.
    var complement: Spans {
        var gaps: [Span] = []
        var end = -Double.infinity
        for span in list {
            if span.lowerBound > end { gaps.append(end...span.lowerBound) }
            end = span.upperBound
        }
        if end < .infinity { gaps.append(end...(.infinity)) }
        return Spans(gaps)
    }

    /// Returns the spans that meet `bounds`, cut to it.
    func within(_ bounds: Span) -> [Span] {
        var found: [Span] = []
        for place in firstEnding(after: bounds.lowerBound)..<list.count {
            if list[place].lowerBound > bounds.upperBound { break }
            found.append(list[place].clamped(to: bounds))
        }
        return found
    }

    /// Returns the part of `bounds` that is in the set, in seconds.
    func length(within bounds: Span) -> Double {
        within(bounds).reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    }

    func meets(_ bounds: Span) -> Bool { !within(bounds).isEmpty }

    private func firstEnding(after instant: Double) -> Int {
        var low = 0
        var high = list.count
        while low < high {
            let middle = (low + high) / 2
            if list[middle].upperBound < instant { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

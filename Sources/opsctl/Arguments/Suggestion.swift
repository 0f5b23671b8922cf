/// The word somebody probably meant.
enum Suggestion {
    /// The nearest of `words`, or nil where none is near enough to be meant.
    static func nearest(to word: String, among words: [String]) -> String? {
        let typed = Array(word.lowercased().utf8)
        var best: (word: String, distance: Int)?
        for candidate in words {
            let name = Array(candidate.lowercased().utf8)
            var distance = distance(typed, name)
            // The beginning of one word alone is as good as one slip.
            if typed.count >= 2, name.starts(with: typed) { distance = min(distance, 1) }
            if distance <= max(1, typed.count / 3), distance < (best?.distance ?? .max) { best = (candidate, distance) }
        }
        return best?.word
    }

    /// Insertions, deletions, changes and swaps of neighbours between two words.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var before = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var cost = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
                row.append(cost)
            }
            (before, last) = (last, row)
        }
        return last[b.count]
    }
}

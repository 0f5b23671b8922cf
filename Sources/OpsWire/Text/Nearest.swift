/// Finds the name that was probably meant by a mistyped one.
public enum Nearest {
    /// Returns the candidate with the fewest edits, if they are few for the length of the name; of equal candidates the
    /// first.
    public static func name(to name: String, among candidates: some Sequence<String>) -> String? {
        let wanted = lowercased(name)
        var bound = min(3, max(1, (wanted.count + 1) / 3))
        var nearest: String?
        for candidate in candidates {
            let letters = lowercased(candidate)
            guard abs(letters.count - wanted.count) <= bound, candidate != name,
                let distance = distance(wanted, letters, atMost: bound)
            else { continue }
            nearest = candidate
            if distance == 0 { break }
            // From now on only a nearer candidate is accepted.
            bound = distance - 1
        }
        return nearest
    }

    /// Returns `; did you mean "build"?`, or an empty text if no candidate is near.
    public static func suggestion(for name: String, among candidates: some Sequence<String>) -> String {
        self.name(to: name, among: candidates).map { "; did you mean \"\($0)\"?" } ?? ""
    }

    private static func lowercased(_ name: String) -> [UInt8] {
        name.utf8.map { $0 &- UInt8(ascii: "A") < 26 ? $0 | 0x20 : $0 }
    }

    /// Counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment); returns nil if
    /// there are more than the bound.
    private static func distance(_ a: [UInt8], _ b: [UInt8], atMost bound: Int) -> Int? {
        var before: [Int] = []
        var previous = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            row.reserveCapacity(b.count + 1)
            var smallest = i + 1
            for j in 0..<b.count {
                var value = min(previous[j] + (a[i] == b[j] ? 0 : 1), previous[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { value = min(value, before[j - 1] + 1) }
                row.append(value)
                smallest = min(smallest, value)
            }
            // A swap looks two rows back, so the previous row must exceed the bound too.
            if smallest > bound, (previous.min() ?? 0) > bound { return nil }
            (before, previous) = (previous, row)
        }
        return previous[b.count] <= bound ? previous[b.count] : nil
    }
}

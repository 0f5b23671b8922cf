import Foundation

/// Marks that the operations wrote themselves, in the order in which they happened.
struct Marks {
    struct Attempt: Hashable { var id: Int, number: Int }
    struct Start { var place: Int, attempt: Attempt, name: String, at: Double }
    struct End { var place: Int, attempt: Attempt, code: Int, isLogWhole: Bool, at: Double }

    /// All starts, including those that break a promise.
    var starts: [Start] = []
    var ends: [Attempt: End] = [:]
    var startsOf: [Int: [Start]] = [:]
    var lastPlaceOf: [Int: Int] = [:]
    /// Children whose submission was acknowledged to their producer.
    var produced: [(child: String, producer: Int)] = []
    var brokenLocks: [String] = []
    var malformed: [String] = []

    init(path: String) throws {
        let seconds = { (word: String) in (Double(word) ?? 0) / 1e6 }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for (place, line) in text.split(separator: "\n").enumerated() {
            let words = line.split(separator: " ").map(String.init)
            guard words.count >= 5, let id = Int(words[2]), let number = Int(words[3]) else {
                malformed.append(String(line))
                continue
            }
            let attempt = Attempt(id: id, number: number)
            lastPlaceOf[id] = place
            switch words[0] {
            case "S" where words.count == 7:
                let start = Start(place: place, attempt: attempt, name: words[1], at: seconds(words[6]))
                starts.append(start)
                startsOf[id, default: []].append(start)
            case "E" where words.count == 7:
                ends[attempt] = End(
                    place: place, attempt: attempt, code: Int(words[4]) ?? -1, isLogWhole: words[5] == "1",
                    at: seconds(words[6]))
            case "P": produced.append((child: words[4], producer: id))
            case "V": brokenLocks.append("operation \(id) (\(words[1])), attempt \(number), did not get \(words[4])")
            default: malformed.append(String(line))
            }
        }
    }
}

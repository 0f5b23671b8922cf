import Foundation

/// A strict parser of OpenMetrics text: everything that the format forbids is an error.
struct OpenMetrics {
    struct Wrong: Error { let text: String }

    /// Values by series, such as `x_total{queue="main"}`, and types by family.
    private(set) var samples: [String: Double] = [:]
    private(set) var types: [String: String] = [:]

    init(_ text: String) throws {
        guard text.hasSuffix("\n# EOF\n") else { throw Wrong(text: "no # EOF at the end") }
        var family = ""
        var head: [String: String] = [:]
        for line in text.dropLast("# EOF\n".count).split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if line.hasPrefix("# ") {
                let words = line.split(separator: " ", maxSplits: 3).map(String.init)
                guard words.count == 4, ["TYPE", "UNIT", "HELP"].contains(words[1]) else {
                    throw Wrong(text: "\(line)")
                }
                if words[2] != family {
                    guard types[words[2]] == nil, words[1] == "TYPE" else { throw Wrong(text: "family twice: \(line)") }
                    (family, head) = (words[2], [:])
                    types[family] = words[3]
                }
                guard head.updateValue(words[3], forKey: words[1]) == nil else { throw Wrong(text: "twice: \(line)") }
                if words[1] == "UNIT", !family.hasSuffix("_" + words[3]) { throw Wrong(text: "unit: \(line)") }
                continue
            }
            guard let match = line.wholeMatch(of: #/([a-z_]+)(\{[^ ]*\}|\{[^{}]*\})? (\S+)/#),
                let value = Double(match.output.3)
            else { throw Wrong(text: "no sample: \(line)") }
            let suffixes: [String]
            switch head["TYPE"] {
            case "counter": suffixes = ["_total"]
            case "histogram": suffixes = ["_bucket", "_count", "_sum"]
            case "gauge": suffixes = [""]
            default: throw Wrong(text: "type of \(family)")
            }
            guard head["HELP"] != nil, suffixes.contains(where: { match.output.1 == family + $0 }) else {
                throw Wrong(text: "not of \(family): \(line)")
            }
            let series = String(match.output.1) + String(match.output.2 ?? "")
            guard samples.updateValue(value, forKey: series) == nil else { throw Wrong(text: "twice: \(line)") }
        }
    }

    /// Values of counters and histograms, which never decrease.
    var growing: [String: Double] {
        samples.filter { series, _ in
            types.contains { name, type in
                type != "gauge" && series.hasPrefix(name)
                    && ["_total", "_bucket", "_count", "_sum"].contains { series.dropFirst(name.count).hasPrefix($0) }
            }
        }
    }
}
